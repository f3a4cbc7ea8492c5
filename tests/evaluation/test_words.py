from __future__ import annotations

from sbert_studio.evaluation.words import gain_in_words, scores_in_words


def test_a_score_is_said_with_its_interval_or_with_its_deviation() -> None:
    assert scores_in_words({"score": 0.5}) == "0.5000"
    assert scores_in_words({"score": 0.5, "interval": [0.4, 0.61]}) == "0.5000 [0.4000, 0.6100]"
    assert scores_in_words({"score": 0.5, "sd": 0.02, "interval": [0.4, 0.61]}) == "0.5000 ± 0.0200"


def test_a_gain_that_may_be_chance_is_called_so() -> None:
    before = {"score": 0.5}
    sure = gain_in_words(before, {"score": 0.6, "gain_interval": [0.05, 0.15]})
    assert sure == "gain +0.1000 [+0.0500, +0.1500]"
    chance = gain_in_words(before, {"score": 0.49, "gain_interval": [-0.05, 0.03]})
    assert chance == "gain -0.0100 [-0.0500, +0.0300]: the gain is within the noise"
    assert gain_in_words(before, {"score": 0.6}) == gain_in_words({}, {"score": 0.6, "gain_interval": [0, 1]}) == ""
