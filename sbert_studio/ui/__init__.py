"""The page. The only place, with app.py, that imports gradio."""

from .gradio_patches import skip_stubs

skip_stubs()
