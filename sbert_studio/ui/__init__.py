"""The page. The only place, with app.py, that imports gradio."""
