"""The page as a whole: header, tabs, uploads, and what holds for every tab."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlparse

from playwright.sync_api import Locator, Page, Request, TimeoutError, expect

from .basket import Basket
from .drawn import drawn
from .evaluate import EvaluateTab
from .fine_tune import FineTuneTab
from .map import MapTab
from .models import ModelsTab
from .search import SearchTab
from .similarity import SimilarityTab
from .tab import Part
from .tray import Tray

_NOTED = 200  # characters of a request, at its beginning and at its end
_OFFERED = (1_000, *[2_500] * 9)  # milliseconds for an open list to offer an option, each time it is opened
# One of these is in every page that has loaded.
_CONTROLS = "#similarity-compare, #search-go, #map-draw, #tune-start, #evaluate-go, #models-cards"
# Looked at with each frame: an expectation is tried again after up to a second.
_SETTLED = "document.body?.getAttribute('aria-busy') === 'false'"
_COLUMN_CHOOSERS = ("kind", "columns", "target", "low", "high", "group")
_INTERRUPTED = ("AbortError", "errored out", "Failed to fetch", "network error")

# Visible elements that stick out of the right edge and are in no box that scrolls sideways.
_CUT_OFF = """() => [...document.querySelectorAll("main *, .gradio-container *")].filter((node) => {
  if (!node.checkVisibility({ visibilityProperty: true, opacityProperty: true })) return false;
  if (node.closest("svg, .sb-hidden, .sb-drawer")) return false;
  const box = node.getBoundingClientRect();
  if (box.width < 2 || box.height < 2 || box.right <= innerWidth + 1) return false;
  for (let up = node.parentElement; up && up !== document.body; up = up.parentElement)
    if (["auto", "scroll"].includes(getComputedStyle(up).overflowX) && up.clientWidth < up.scrollWidth) return false;
  return true;
}).map((node) => `${node.tagName}.${node.className} ${node.innerText?.slice(0, 60) ?? ""}`)"""


@dataclass(eq=False)
class App:
    """The studio in one browser context, as one visitor sees it.

    Attributes:
        errors: console errors and uncaught exceptions so far.
        dialogs: messages of dialogs that opened (none should).
        foreign_requests: URLs of other hosts that the page asked for (none should be).
        requests: time and beginning of what the page sent to handlers.
    """

    page: Page
    url: str
    errors: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    foreign_requests: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        page = self.page
        page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", self._note)

        def dismiss(dialog: Any) -> None:
            self.dialogs.append(dialog.message)
            dialog.dismiss()

        page.on("dialog", dismiss)
        self.similarity, self.search, self.map = SimilarityTab(self), SearchTab(self), MapTab(self)
        self.fine_tune, self.evaluate, self.models = FineTuneTab(self), EvaluateTab(self), ModelsTab(self)
        self.basket, self.tray = Basket(self), Tray(self)

    def _note(self, request: Request) -> None:
        if self._is_foreign(request.url):
            self.foreign_requests.append(request.url)
        elif request.method == "POST":
            body = (request.post_data_buffer or b"").decode(errors="replace")
            body = body if len(body) < 2 * _NOTED else f"{body[:_NOTED]} … {body[-_NOTED:]}"  # the handler's number is at the end
            self.requests.append(f"{datetime.now():%H:%M:%S.%f} {urlparse(request.url).path} {body}")

    def _is_foreign(self, url: str) -> bool:
        return not url.startswith((self.url, "data:", "blob:", "about:"))

    # Opening and waiting.
    def open(self, query: str = "") -> None:
        """Load the page, with an optional query string, and wait until it has settled."""
        self.page.goto(f"{self.url}/{query}")
        self.ready()

    def ready(self) -> None:
        """Wait until the page has loaded and settled."""
        self.page.wait_for_function(f"document.querySelector('{_CONTROLS}') && {_SETTLED}")

    def reload(self) -> None:
        before, self.errors = self.errors, []
        self.page.reload()
        self.ready()
        self.forgive_interrupted_requests()
        self.errors = before + self.errors

    def settle(self) -> None:
        """Wait until the page waits for no answer of the server (``<body aria-busy>``): what is typed or clicked then stays."""
        self.page.wait_for_function(_SETTLED)

    def ask(self, button: Locator) -> None:
        """Click on what asks the server, and wait until the page has settled again."""
        self.settle()  # the request of an earlier click would be taken for the one of this
        with self.page.expect_request(lambda request: "/queue/join" in request.url):
            button.click()
        self.settle()

    def forgive_interrupted_requests(self) -> None:
        """Forget what Gradio logged about its own requests that were cut short by leaving the page."""
        self.errors = [line for line in self.errors if not any(words in line for words in _INTERRUPTED)]

    @property
    def tabs(self) -> list[str]:
        """The titles of the tabs, as the page shows them."""
        return self.tab_bar.get_by_role("tab").all_inner_texts()

    def open_tab(self, title: str) -> None:
        self.page.get_by_role("tab", name=title, exact=True).first.click()

    @property
    def address(self) -> dict[str, str]:
        """The parameters in the address bar."""
        return {name: values[0] for name, values in parse_qs(urlparse(self.page.url).query).items()}

    def expect_address(self, **parameters: str | None) -> None:
        """Wait until each parameter has the value (``None``: is absent)."""
        for name, value in parameters.items():
            found = "new URLSearchParams(location.search).get(name)"
            self.page.wait_for_function(f"([name, value]) => {found} === value", arg=[name, value])

    # Header.
    tab_bar = Part(".sb-tabs > .tab-wrapper")
    corpus_name = Part("#corpus input")  # the data chooser's input; its value is the name of the chosen data
    model_name = Part("#model input")  # the model chooser's input; its value is the title of the chosen model

    def choose_corpus(self, name: str) -> None:
        self.choose("#corpus", name)

    def choose_model(self, name: str) -> None:
        self.choose("#model", name)
        expect(self.model_name).to_have_value(name)

    banner = Part("#banner .sb-banner")  # what stands above every tab where the model hardly reads the corpus
    toast = Part(".toast-body")

    def close_toasts(self) -> None:
        """Close what lies over the right of the header."""
        self.page.evaluate("document.querySelectorAll('.toast-close').forEach((button) => button.click())")
        expect(self.toast).to_have_count(0)

    # Controls.
    def fill(self, box: str, text: str) -> None:
        """Type into a text box once the page has settled, since an answer on its way may still fill the form."""
        self.settle()
        self.open_section(box)
        field = self.page.locator(f"{box} input, {box} textarea")
        field.fill(text)
        drawn(self.page)
        expect(field).to_have_value(text)

    def open_section(self, control: str) -> None:
        """Open the *Advanced* section that a control is in, if it is closed."""
        prefix, _, name = control.removeprefix("#").partition("-")
        section = "tune-roles" if prefix == "tune" and name in _COLUMN_CHOOSERS else f"{prefix}-advanced"
        button = self.page.locator(f"#{section} > button:not(.open, [aria-expanded=true])")
        if button.count() and button.is_visible() and not self.page.locator(control).is_visible():
            button.click()

    def choose(self, dropdown: str, option: str) -> None:
        """Choose in a dropdown. It is opened again until the option can be clicked: an open list closes when new options come."""
        self.settle()
        self.open_section(dropdown)
        self.close_toasts()
        found = self.page.get_by_role("option", name=option)

        def is_chosen(milliseconds: int) -> bool:
            self.page.click(f"{dropdown} input")
            try:
                expect(found.first).to_be_visible(timeout=milliseconds)
                found.first.click(timeout=_OFFERED[-1])
            except (AssertionError, TimeoutError):
                self.page.keyboard.press("Escape")
                self.page.locator(f"{dropdown} input").blur()
                return False
            return True

        if not any(is_chosen(milliseconds) for milliseconds in _OFFERED):
            raise AssertionError(f"{option} is not offered in {dropdown}")

    def upload(self, elem_id: str, name: str, text: str) -> None:
        """Choose a file as the file dialog would, in place of the one that is there; its input is invisible."""
        payload: Any = {"name": name, "mimeType": "text/csv", "buffer": text.encode()}
        preview = self.page.locator(f"#{elem_id} .file-preview")
        if preview.count():
            # The last button clears; where several files may be chosen, those before it add one.
            self.page.locator(f"#{elem_id} .icon-button-wrapper button").last.click()
            expect(preview).to_have_count(0)
        field = self.page.locator(f"#{elem_id} input[type=file]")
        field.wait_for(state="attached")
        field.set_input_files(payload)

    def add_data(self, name: str, text: str, *, settle: bool = True) -> None:
        """Add a file in the dialog, use it, and wait until the header shows it, and for what is computed from it."""
        self.settle()
        self.close_toasts()
        self.page.click("#data-open")
        self.settle()
        self.upload("data-file", name, text)
        shown = re.sub(r"[<>${}]", "", name)  # Gradio takes some signs out of names of files
        expect(self.page.locator("#data-review h3").first).to_have_text(shown)
        self.settle()
        self.page.click("#data-use")
        expect(self.page.locator("#add-data")).not_to_be_visible()
        expect(self.corpus_name).to_have_value(shown)
        if settle:
            self.settle()

    def remove_data(self) -> None:
        """Delete the chosen file in the dialog."""
        self.settle()
        self.page.click("#data-open")
        self.settle()
        self.page.click("#data-remove")
        expect(self.page.locator("#add-data")).not_to_be_visible()
        self.settle()

    def download(self, button: Locator) -> tuple[str, bytes]:
        """Click and return the name and the content of the file that comes."""
        with self.page.expect_download() as coming:
            button.click()
        return coming.value.suggested_filename, coming.value.path().read_bytes()

    def download_rows(self, button: Locator) -> tuple[str, list[dict[str, str]]]:
        """Click and return the name and the rows of the CSV file that comes."""
        name, content = self.download(button)
        return name, list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline="")))

    @contextmanager
    def opened_alone(self, button: Locator, path: Path) -> Iterator[Page]:
        """Save the HTML file that comes by a click and open it without the app. It may ask for nothing, and raise no error."""
        name, content = self.download(button)
        assert name.endswith(".html")
        path.write_bytes(content)
        alone, seen = self.page.context.new_page(), []
        alone.on("request", lambda request: seen.append(request.url))
        alone.on("pageerror", lambda error: seen.append(str(error)))
        alone.goto(path.as_uri())
        yield alone
        assert [one for one in seen if not one.startswith(("data:", "blob:"))] == [path.as_uri()]

    # What holds for every tab.
    def resize(self, width: int, height: int = 900) -> None:
        self.page.set_viewport_size({"width": width, "height": height})

    def cut_off(self) -> list[str]:
        """Descriptions of visible elements beyond the right edge that cannot be scrolled to."""
        return list(self.page.evaluate(_CUT_OFF))

    def expect_fits(self, width: int, height: int = 800, back_to: int = 1280) -> None:
        """Check that nothing needs to be scrolled sideways at a width, and go back to the usual one."""
        self.resize(width, height)
        self.page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
        self.resize(back_to)

    def expect_nothing_ran(self) -> None:
        """Check that no markup or script of a text became part of the page."""
        self.settle()
        assert self.dialogs == []
        expect(self.page.locator("img[src='x']")).to_have_count(0)

    def expect_clean(self) -> None:
        """Check that the visitor saw no error and no dialog, and that the page asked for nothing elsewhere."""
        assert not self.errors, self.errors
        assert self.dialogs == []
        assert self.foreign_requests == []
