"""Sentences on scores, gains and costs of a training."""

from __future__ import annotations

from sbert_studio.evaluation.report import (
    describe_accuracy,
    describe_confusions,
    describe_gain,
    describe_kept_model,
    describe_outcome,
    describe_run,
    describe_score,
    describe_tradeoff,
    natural_frequencies,
)


def test_a_score_is_said_with_its_interval_or_with_its_deviation() -> None:
    assert describe_score({"score": 0.5}) == "0.500"
    assert describe_score({"score": 0.5, "interval": [0.4, 0.61]}) == "0.500 [0.400, 0.610]"
    assert describe_score({"score": 0.5, "sd": 0.02, "interval": [0.4, 0.61]}) == "0.500 ± 0.020"


def test_a_gain_that_may_be_chance_is_called_so() -> None:
    before = {"score": 0.5}
    sure = describe_gain(before, {"score": 0.6, "gain_interval": [0.05, 0.15]})
    assert sure == "gain +0.100 [+0.050, +0.150]: better"
    chance = describe_gain(before, {"score": 0.49, "gain_interval": [-0.05, 0.03]})
    assert chance == "gain -0.010 [-0.050, +0.030]: no difference beyond chance"
    assert describe_gain(before, {"score": 0.4, "gain_interval": [-0.2, -0.05]}).endswith(": worse")
    assert describe_gain(before, {"score": 0.6}) == describe_gain({}, {"score": 0.6, "gain_interval": [0, 1]}) == ""


def marks(**scores: float) -> list[dict[str, float]]:
    return [{"strength": strength, "score": score} for strength, score in zip((0, 0.5, 1), scores.values(), strict=True)]


def test_which_model_was_kept_is_said_with_the_reason() -> None:
    blend = {"strength": 0.5, "score": 0.7, "strengths": marks(untuned=0.5, half=0.7, tuned=0.6)}
    kept = "a blend of strength 50% is kept: it scored highest, 0.700; the fine-tuned model scored 0.600"
    assert describe_kept_model(blend) == kept
    blend["strengths"][-1] |= {"interval": [0.55, 0.65]}
    assert describe_kept_model(blend) == f"{kept} [0.550, 0.650]", "a difference is not called better without its interval"
    assert describe_kept_model(blend | {"strength": 1.0, "score": 0.6}) == "strength 1 (set manually); best was 0.5 with 0.700"
    assert "an estimate" in describe_kept_model(blend | {"strength": 0.6, "score": 0.68, "interpolated": True})
    untuned = {"strength": 0.0, "score": 0.5, "gain_interval": [0.0, 0.0], "strengths": marks(untuned=0.5, half=0.4, tuned=0.3)}
    assert describe_kept_model(untuned).startswith("neither the fine-tuned model 0.300 nor a blend is better")
    assert describe_run({"score": 0.5}, untuned)[0] == "no gain: the base model is kept"
    assert describe_kept_model({"score": 0.5}) == ""


def test_what_a_training_costs_elsewhere_stands_beside_the_gain() -> None:
    before = {"score": 0.5, "general": {"score": 0.9}}
    assert describe_tradeoff(before, {"score": 0.561, "general": {"score": 0.896}}) == "your data +0.061, general −0.004"
    assert describe_tradeoff(before, {"score": 0.561}) == ""
    assert describe_run(before, {"score": 0.561, "general": {"score": 0.896}})[1] == "everyday language: −0.004"
    assert describe_tradeoff(before, {"score": 0.5, "general": {"score": 0.9}}) == "your data ±0.000, general ±0.000"


def test_categories_are_said_as_texts_out_of_a_hundred() -> None:
    after = {"task": "categories", "score": 0.9149}
    assert describe_accuracy(after, {"score": 0.845}) == "it now assigns 91 of 100 new texts to the right category instead of 85"
    assert describe_accuracy(after) == "it assigns 91 of 100 new texts to the right category"
    assert describe_accuracy(after, {"score": 0.911}) == "it now assigns 915 of 1,000 new texts to the right category instead of 911"
    assert natural_frequencies(0.985) == (100, 99) and natural_frequencies(0.801, 0.8) == (1_000, 801, 800)
    assert describe_accuracy(after, after) == "it assigns 91 of 100 new texts to the right category, as before"
    assert describe_accuracy({"task": "triplets", "score": 0.8}, {"score": 0.5}) == "it now gets 80 of 100 new triplets right instead of 50"
    assert describe_accuracy({"task": "sts", "score": 0.9}, {"score": 0.8}) == ""


def test_what_a_training_came_to_is_one_sentence() -> None:
    before = {"score": 0.81}
    after = {"score": 0.85, "gain_interval": [0.021, 0.06]}
    assert describe_outcome(before, after) == "better: 0.810 → 0.850 on unseen rows (gain +0.040, between +0.021 and +0.060)"
    assert describe_outcome(before, {"score": 0.85}) == "0.810 → 0.850 on unseen rows (gain +0.040)"
    sure = describe_outcome(before, {**after, "gain_interval": [0.0002, 0.06]})
    assert sure.endswith("(gain +0.0400, between +0.0002 and +0.0600)"), "a sure gain does not begin at zero"
    near = describe_outcome(before, {"score": 0.812, "gain_interval": [-0.02, 0.03]})
    assert near.startswith("no difference beyond chance: 0.810 → 0.812"), "what differs does not look the same"
    several = describe_outcome(before, {"score": 0.85, "sd": 0.01, "each": [0.84, 0.85, 0.86]})
    assert several.endswith("(gain +0.040, mean of 3 training runs (± 0.010))")
    categories = describe_outcome({"score": 0.845}, {"task": "categories", "score": 0.9149, "gain_interval": [0.04, 0.1]})
    assert categories.startswith("better: it now assigns 91 of 100 new texts to the right category instead of 85 (gain +0.07")
    assert describe_outcome({}, after) == describe_outcome(before, {}) == ""


def test_the_most_confused_categories_are_named_with_a_text() -> None:
    texts = [{"text": "where is it", "category": "card_arrival", "found": "lost_card"}]
    pair = {"categories": ["card_arrival", "lost_card"], "count": 3, "texts": texts}
    (line,) = describe_confusions({"confused": [pair]})
    assert line == "“card_arrival” and “lost_card” are confused 3 times, for example in “where is it” (card_arrival)"
    assert "once" in describe_confusions({"confused": [{**pair, "count": 1}]})[0]
    assert describe_confusions({"task": "sts"}) == []
