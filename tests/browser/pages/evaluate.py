"""The Evaluate tab: models scored on a table, the leaderboard, and what changed from one model to another."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from .drawn import drawn
from .tab import Part, Tab


class Changes:
    """What changed from one model to another: in the page, or in a saved file that was opened."""

    def __init__(self, page: Page, root: Locator) -> None:
        self.page, self.root = page, root

    def expect_drawn(self, share: int) -> None:
        """Wait until the second map is drawn at a share of the way from the first model (0) to the second (1)."""
        expect(self.root.locator(".sb-changed-maps")).to_have_attribute("data-drawn", str(share))

    list = Part(".sb-changed-list")
    queries = Part(".sb-changed-query")

    def open_first_text(self) -> None:
        """Click the first listed text and wait for its ten neighbours before and its ten after."""
        self.list.locator("li button").first.click()
        expect(self.list.locator(".sb-sides li")).to_have_count(20)


class EvaluateTab(Tab):
    title = "Evaluate"

    @property
    def changes(self) -> Changes:
        return Changes(self.page, self.at("#changed-view"))

    # The form.
    models = Part("#evaluate-models .token")  # the models that are chosen, each with a button that removes it

    def choose_models(self, *names: str) -> None:
        """Choose these models and no others."""
        self.app.settle()
        remove = self.at("#evaluate-models .token-remove:not(.hidden)")
        if self.models.count():
            remove.last.click()  # where there are several, the last one removes all
            expect(self.models).to_have_count(0)
        for name in names:
            # Choosing what is chosen takes it away: a click that counted, but was repeated since the page answered late, does so.
            assert any(self._is_added(name) for _ in range(4)), f"{name} cannot be chosen"
        expect(self.models).to_have_text(list(names))

    def _is_added(self, name: str) -> bool:
        self.app.choose("#evaluate-models", name)
        self.page.keyboard.press("Escape")
        self.app.settle()
        drawn(self.page)
        return self.models.filter(has_text=name).count() == 1

    def upload(self, name: str, text: str) -> None:
        """Choose a file as the data of all tabs."""
        self.app.add_data(name, text)

    def evaluate(self, *names: str) -> None:
        """Press Evaluate and wait for the scores of these models."""
        self.at("#evaluate-go").click()
        for name in names:
            expect(self.rows.filter(has_text=name)).to_have_count(1)
        expect(self.rows).to_have_count(len(names))

    # The result.
    verdict = Part("#evaluate-said")  # which model is better, and what the result was made with
    made_with = Part("#evaluate-said .sb-made")
    scores = Part("#evaluate-scores")
    rows = Part("#evaluate-scores tbody tr")

    def column(self, name: str) -> Locator:
        """The cells of a column of the table of scores."""
        return self.at(f"#evaluate-scores td[data-name='{name}']")

    # The leaderboard.
    board_rows = Part("#board-table tbody tr")

    def choose_board_set(self, name: str) -> None:
        """Show the leaderboard of one set, whose table has no column of sets."""
        self.app.choose("#board-set", name)
        expect(self.at("#board-table [data-name=Set]")).to_have_count(0)
