"""Web page. Apart from app.py, the only package that imports gradio."""

from .gradio_patches import skip_stubs

skip_stubs()
