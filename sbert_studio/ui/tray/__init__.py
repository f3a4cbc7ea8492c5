"""The tray in the header: everything that is under way, how far it is, and Stop."""
