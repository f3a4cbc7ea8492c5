"""What Gradio refuses before a handler is called, told in words: by itself it answers ``error: null``."""

from __future__ import annotations

import logging
from typing import Any

import gradio as gr
from gradio.exceptions import InvalidPathError

from ...errors import in_brief

log = logging.getLogger(__name__)
_NOT_SENT = "this file was not sent to the page. hint: upload it first (gradio_client: handle_file), and pass what the upload returned."
_NOT_READ = "the arguments could not be read: {}. hint: see the page's API documentation for their number and their kinds."


class PlainBlocks(gr.Blocks):  # type: ignore[misc]
    """``gr.Blocks`` that says why it refuses the arguments of a call."""

    async def preprocess_data(self, *args: Any, **named: Any) -> Any:
        """The arguments as the handlers take them.

        Raises:
            gr.Error: they are refused, and why.
        """
        try:
            return await super().preprocess_data(*args, **named)
        except gr.Error as error:
            error.print_exception = False  # it is told to who asked
            error.message = in_brief(str(error.message))
            raise
        except InvalidPathError:
            raise gr.Error(_NOT_SENT, print_exception=False) from None
        except Exception as error:
            log.info("the arguments of a call were refused", exc_info=True)
            # The reason that Gradio gives goes on with a list of its components.
            reason = next(iter(str(error.__cause__ or error).strip().splitlines()), "") or type(error).__name__
            raise gr.Error(_NOT_READ.format(reason[:200].rstrip(" .:")), print_exception=False) from None
