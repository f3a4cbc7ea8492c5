"""One rounding of scores and gains, and one verdict, for every place that shows them."""

from __future__ import annotations

import pytest

from sbert_studio.evaluation.changes import ScoreChange, change_of, describe_change, format_speed, is_faster
from sbert_studio.evaluation.encoding import EncodingSpeed
from sbert_studio.evaluation.report import describe_gain, describe_outcome, verdict


@pytest.mark.parametrize(
    ("before", "after", "interval", "expected"),
    [
        (0.84779, 0.86191, (-0.003, 0.03), ScoreChange("0.848", "0.862", "+0.014", ("-0.003", "+0.030"), "no difference beyond chance")),
        (0.81, 0.85, (0.02, 0.06), ScoreChange("0.810", "0.850", "+0.040", ("+0.020", "+0.060"), "better")),
        (0.85, 0.81, (-0.06, -0.02), ScoreChange("0.850", "0.810", "-0.040", ("-0.060", "-0.020"), "worse")),
        (0.8, 0.8002, None, ScoreChange("0.8000", "0.8002", "+0.0002")),
        (0.8, 0.85, (0.0002, 0.1), ScoreChange("0.8000", "0.8500", "+0.0500", ("+0.0002", "+0.1000"), "better")),
        (0.8, 0.8, (0.0, 0.0), ScoreChange("0.800", "0.800", "±0.000", ("±0.000", "±0.000"), "no difference beyond chance")),
        (0.8, 0.8, (None, None), ScoreChange("0.800", "0.800", "±0.000")),
    ],
)
def test_a_change_is_written_with_as_many_digits_as_tell_it(
    before: float, after: float, interval: tuple[float, float] | None, expected: ScoreChange
) -> None:
    assert describe_change(before, after, interval) == expected


def test_every_description_of_a_run_has_the_same_gain_and_verdict_or_none() -> None:
    before = {"score": 0.84779}
    after = {"score": 0.86191, "metric": "cosine_spearman", "gain_interval": [-0.003, 0.03]}
    change = change_of(before, after)
    assert change is not None and change.verdict == verdict(after) == "no difference beyond chance"
    for words in (describe_gain(before, after), describe_outcome(before, after)):
        assert change.gain in words and change.verdict in words and all(bound in words for bound in change.interval)
    assert change_of({}, after) is None and change_of(before, {"metric": "cosine_spearman"}) is None
    change = change_of({"score": 0.8}, {"score": 0.9, "gain_interval": [0.05, 0.15], "chosen": {"score": 0.85}})
    assert change is not None and change.verdict == "" and change.gain == "+0.100"


def test_speeds_differ_only_if_their_ranges_do_not_overlap() -> None:
    assert is_faster((110, 120), (90, 109)) is True
    assert is_faster((110, 120), (90, 111)) is False and is_faster((90, 109), (110, 120)) is False
    assert is_faster(None, (1, 2)) is None and is_faster((1, 2), None) is None, "measured once: unknown"
    assert [format_speed(1204.4, (1150, 1260.2)), format_speed(1204.4, None), format_speed(0, None)] == ["1,204 (1,150–1,260)", "1,204", ""]


def test_the_rate_is_the_median_of_repeats_over_the_same_rows_and_its_spread_covers_them() -> None:
    pace, sent = EncodingSpeed(), []
    pace.time_repeats(["a"], sent.append)
    assert pace.spread is None and not sent, "nothing was encoded before"
    with pace.measure(None, each=2) as show:
        show(1_000, 1_000)
    pace.time_repeats(list(range(1_000)), sent.append, each=2)
    rates = sorted([pace.sentences / pace.seconds, *pace.repeats])
    assert len(sent) == len(pace.repeats) == 4 and all(rows == sent[0] for rows in sent)
    assert pace.spread == (rates[0], rates[-1]) and pace.rate == rates[2]
