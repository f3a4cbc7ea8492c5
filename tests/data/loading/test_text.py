"""Plain text: a text a line, labels of known conventions, and tables under the name of a text file."""

from __future__ import annotations

from pathlib import Path

import pytest
from data.loading.files import contents, read


def test_plain_text_gives_a_row_a_line_and_notes_blank_lines(tmp_path: Path) -> None:
    table = read(tmp_path, 'First, with a comma.\n\n"A quote" stays; so does \u2028 this.\r\nLast one\n\n', "corpus.txt")
    assert contents(table) == [("First, with a comma.",), ('"A quote" stays; so does \u2028 this.',), ("Last one",)]
    assert table.lines.tolist() == [1, 3, 4]
    assert [note.rows for note in table.notes] == [(2,)]


@pytest.mark.parametrize(
    ("text", "columns", "row"),
    [
        ("5.0\tA man sings.\tA man is singing.\n1.2\tA dog.\tA cat sleeps here.\n", 3, ("1.2", "A dog.", "A cat sleeps here.")),
        ("Ein Haus. ||| A house.\nEin Hund, groß. ||| A dog, large.\n", 2, ("Ein Hund, groß.", "A dog, large.")),
        ("1::Toy Story, the::3\n2::Jumanji::4\n", 3, ("2", "Jumanji", "4")),
    ],
    ids=["tabs", "bars", "colons"],
)
def test_a_text_file_with_separators_is_a_table(tmp_path: Path, text: str, columns: int, row: tuple[str, ...]) -> None:
    table = read(tmp_path, text, "f.txt")
    assert table.columns == tuple(f"column_{at}" for at in range(1, columns + 1))
    assert contents(table)[1] == row
    assert table.lines.tolist() == [1, 2]


def test_labels_of_fasttext_are_a_column(tmp_path: Path) -> None:
    table = read(tmp_path, "__label__a some words, here\n__label__b __label__c more\n", "f.txt")
    assert (table.columns, contents(table)) == (("label", "text"), [("a", "some words, here"), ("b, c", "more")])


def test_labels_behind_an_at_sign_are_a_column(tmp_path: Path) -> None:
    lines = ["Profit rose by 5 % .@positive", "Sales fell, write to a@b.example@negative", "Nothing changed .@neutral"] * 4
    table = read(tmp_path, "\n".join(lines), "Sentences_50Agree.txt")
    assert table.columns == ("text", "label")
    assert contents(table)[:2] == [("Profit rose by 5 % .", "positive"), ("Sales fell, write to a@b.example", "negative")]
    assert any("label" in note.message for note in table.notes)
    assert read(tmp_path, "\n".join([*lines, "No label here."]), "f.txt").columns == ("text",)
    addresses = [f"Please write to person number {n}@host{n}.example" for n in range(12)]
    assert read(tmp_path, "\n".join(addresses), "f.txt").columns == ("text",)
