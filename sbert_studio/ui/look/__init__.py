"""How the page looks and speaks: its theme, its languages, what a saved file carries."""
