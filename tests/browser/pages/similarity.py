"""The Similarity tab."""

from __future__ import annotations

from playwright.sync_api import Locator, expect

from .tab import Tab


class SimilarityTab(Tab):
    title = "Similarity"

    def compare(self) -> None:
        """Compare the two texts and wait for the score."""
        self.app.ask(self.at("#similarity-compare"))
        expect(self.score).to_be_visible()

    @property
    def gauge(self) -> Locator:
        return self.at("#similarity-gauge")

    @property
    def score(self) -> Locator:
        return self.at("#similarity-gauge .sb-big")

    @property
    def texts(self) -> Locator:
        """Both texts with their words as buttons."""
        return self.at("#similarity-words .sb-words-text")

    @property
    def words(self) -> Locator:
        return self.at("#similarity-words .sb-word")

    @property
    def chosen_words(self) -> Locator:
        """The word that is pointed at and its partner in the other text."""
        return self.at("#similarity-words .sb-word.sb-chosen")

    @property
    def word_facts(self) -> Locator:
        """The line about the word that is pointed at."""
        return self.at("#similarity-words .sb-words-told")

    @property
    def matrix(self) -> Locator:
        return self.at("#matrix-view")
