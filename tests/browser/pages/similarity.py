"""The Similarity tab."""

from __future__ import annotations

from playwright.sync_api import expect

from .tab import Part, Tab


class SimilarityTab(Tab):
    title = "Similarity"

    def compare(self) -> None:
        """Compare the two texts and wait for the score."""
        self.app.ask(self.at("#similarity-compare"))
        expect(self.score).to_be_visible()

    gauge = Part("#similarity-gauge")
    score = Part("#similarity-gauge .sb-big")
    texts = Part("#similarity-words .sb-words-text")  # both texts with their words as buttons
    words = Part("#similarity-words .sb-word")
    chosen_words = Part("#similarity-words .sb-word.sb-chosen")  # the word that is pointed at and its partner in the other text
    word_facts = Part("#similarity-words .sb-words-told")  # the line about the word that is pointed at
    matrix = Part("#matrix-view")
