"""The Models tab: what can be chosen, and static embeddings trained from a file."""

from __future__ import annotations

from playwright.sync_api import expect

from .tab import Part, Tab


class ModelsTab(Tab):
    title = "Models"

    cards = Part("#models-cards .sb-card")  # the models and runs that are listed

    def select(self, name: str) -> None:
        """Click the card of a model or run and wait for its facts."""
        self.open()
        self.cards.filter(has_text=name).first.click()
        expect(self.at("#models-whole")).to_contain_text(name)  # not the facts of the model that was selected before
        expect(self.at("#models-facts dl").first).to_be_visible()

    embeddings_job = Part("#fit-job")  # the state of the static embeddings being trained, or of the latest

    def start_export(self, title: str) -> None:
        """Start exporting the selected model; the format is chosen by its title."""
        section = self.at("#models-exports details")
        if section.get_attribute("open") is None:
            section.locator("summary").click()
        self.app.page.select_option("#models-export-format", label=title)
        self.at("#models-export-go").click()

    def open_embeddings(self) -> None:
        """Open the form that trains static embeddings."""
        self.open()
        section = self.at("#fit-open > button")
        if "open" not in (section.get_attribute("class") or "").split():
            section.click()

    def train_embeddings(self, name: str, file_name: str, text: str, dimensions: int) -> None:
        """Train static embeddings from a file, wait until they are finished and listed."""
        self.open_embeddings()
        self.app.upload("fit-file", file_name, text)
        expect(self.at("#fit-chosen")).to_contain_text(file_name)
        self.at("#fit-settings > button").click()
        expect(self.at("#fit-glove-width input")).to_have_value("100")
        self.app.fill("#fit-glove-width", str(dimensions))
        self.app.fill("#fit-name", name)
        self.at("#fit-go").click()
        expect(self.embeddings_job.locator(".sb-finished")).to_be_visible()
        expect(self.cards.filter(has_text=name).first).to_be_visible()
