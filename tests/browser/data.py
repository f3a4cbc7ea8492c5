"""Small files for the browser tests."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Iterable, Sequence

# What flows call the models that they make. They share an app, so that one may see the models of another.
FIRST_MODEL, READER, WORDS_FOR_PAIRS = MODEL_NAMES = ("My first model", "My reader", "Words for pairs")
_TOPICS = {
    "card": ["my card was swallowed by the machine", "the machine kept my bank card", "cash machine ate my card", "card stuck in the ATM"],
    "bread": ["how long does bread dough rise", "my sourdough bread is too dense", "which flour makes soft bread", "bread without yeast"],
    "rain": ["will it rain tomorrow", "the weather forecast says heavy rain", "is there a storm coming", "it rained the whole weekend"],
}
# Texts with topics, some of them near-duplicates.
REQUESTS = [
    ("My card was swallowed by the machine", "card"), ("my card was swallowed by the machine", "loss"),
    ("My card got swallowed by the machine.", "card"), ("How long does bread dough rise?", "bread"),
    ("How long does bread dough take to rise?", "bread"), ("Will it rain tomorrow?", "rain"), ("The museum is closed on Mondays", "museum"),
]  # fmt: skip
_TEXT = "cat dog bread river stone milk moon bank card train garden window teacher music winter paper coffee bridge"
WORDS = _TEXT.split()
_NOUNS = (
    "card bank cash money bread flour oven yeast rain storm wind snow train ticket station platform guitar piano violin drum "
    "doctor nurse hospital medicine football goal player referee engine tyre brake garage novel poem author library "
    "planet star moon galaxy lawyer judge court trial potato carrot onion cabbage camera lens photo picture"
)


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()


def corpus_csv(seed: int = 0) -> str:
    """48 short texts in three topics (columns ``message`` and ``topic``), no two equal."""
    endings = ("", " please", " today", " again")
    rows = [(text + ending, topic) for topic, texts in _TOPICS.items() for text in texts for ending in endings]
    random.Random(seed).shuffle(rows)
    return csv_text(("message", "topic"), rows)


def scored_pairs_csv(rows: int = 40) -> str:
    """Pairs of short texts with a score from 0 to 5 that is the share of common words."""
    draw = random.Random(4)
    made = []
    for number in range(rows):
        left = draw.sample(WORDS, 5)
        right = left[: number % 6] + draw.sample([word for word in WORDS if word not in left], 5 - number % 6)
        made.append((f"the {' and the '.join(left)}", f"a {' or a '.join(right)}", number % 6))
    return csv_text(("sentence1", "sentence2", "score"), made)


def topics_csv(topics: int = 12, texts: int = 14) -> str:
    """Texts of topics that share no word (columns ``message``, ``team`` and ``sent``), and four texts like no other."""
    draw, teams = random.Random(6), ("north", "south")
    groups = [_NOUNS.split()[4 * topic : 4 * topic + 4] for topic in range(topics)]
    rows = []
    for topic, words in enumerate(groups):
        for number in range(texts):
            chosen = " ".join(draw.sample(words, 3))
            rows.append((f"{chosen} {words[number % 4]}", teams[topic % 2], f"2024-{1 + number % 12:02d}-15"))
    rows += [(text, "", "") for text in ("qxz 77 vvv", "??? !!! 0x1f", "zzyzx plugh xyzzy", "lorem ipsum dolor")]
    return csv_text(("message", "team", "sent"), dict.fromkeys(rows))


def table_rows(rows: int = 240) -> list[dict[str, str]]:
    """Texts of six topics with a column of each kind: price (a number, some blank), sent (date), team (category), tags (list), urgent
    (boolean). The cells of any two columns are nearly independent."""
    draw, topics = random.Random(8), [_NOUNS.split()[4 * topic : 4 * topic + 4] for topic in range(6)]
    teams = ["north"] * 6 + ["south"] * 4 + [f"office {letter}" for letter in "abcdefghijklm"]
    made: dict[str, dict[str, str]] = {}
    while len(made) < rows:
        text = " ".join([*draw.choices(topics[len(made) % 6], k=3), draw.choice(WORDS)])
        made[text] = {
            "message": text,
            "price": "" if draw.random() < 0.15 else f"{draw.gammavariate(2, 20):.2f}",
            "sent": "" if draw.random() < 0.05 else f"2024-{draw.randint(1, 12):02d}-{draw.randint(1, 28):02d}",
            "team": draw.choice(teams),
            "tags": "; ".join(draw.sample(["late", "lost", "damaged", "refund"], draw.randint(0, 3))),
            "urgent": draw.choice(["yes", "no", "no"]),
        }
    return list(made.values())
