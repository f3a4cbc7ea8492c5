"""The page. The only place, with app.py, that imports gradio."""

from .stubs import leave_out_stubs

leave_out_stubs()
