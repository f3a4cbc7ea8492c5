"""Languages of the page: ``python docs/make_languages.py`` writes ``sbert_studio/locale/messages.pot`` and brings each ``messages.po``
up to date. It prints the texts that have no translation yet.

The texts are read from the code: messages with values, and literals that reach the page as they are. What only the command line, the
log, a model's card or an exported file says stays in English.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po
from jinja2 import Environment
from jinja2.ext import extract_from_ast

from docs.wording import javascript, python
from docs.wording.elsewhere import GRADIO, MEASURES, MONTHS, NAMES, PARTS, SEPARATORS

ROOT = Path(__file__).resolve().parents[1]
PACKAGE, PAGE, SAMPLES = ROOT / "sbert_studio", ROOT / "assets" / "page", ROOT / "assets" / "samples"
LOCALE = PACKAGE / "locale"
HEADER = r'''msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"
"Language: LANGUAGE_REGION\n"
"X-Language-Name: Name of the language in itself\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\n"'''
# Modules whose literals never reach the page, or are data themselves. Their messages do.
SILENT = (
    *("__main__.py", "cli/", "server/", "runs/export/", "runs/tensorboard.py", "ui/endpoints.py", "ui/verbs.py", "settings.py"),
    *("ui/gradio_patches.py", "ui/panel.py", "ui/theme.py", "data/loading/codepages.py", "explore/bm25.py"),
    *("services/topic_report_files.py", "services/retrieval_files.py", "services/topic_names.py", "services/written_queries.py"),
    *("services/results/__init__.py", "ui/sessions/middleware.py", "ui/sessions/blocks.py", "i18n.py"),
)


def texts(literals: str = "prose") -> Iterator[tuple[python.Text, str]]:
    """Yield each text that a language needs, and the file it is in; with ``all`` also single words, which may be names."""
    yield from ((text, "docs/wording/elsewhere.py") for text in (*GRADIO, *MONTHS, *MEASURES, *PARTS, *SEPARATORS))
    for sample in json.loads((SAMPLES / "index.json").read_text(encoding="utf-8")):
        yield from ((sample[name], "assets/samples/index.json") for name in ("title", "description"))
    for path in sorted(PAGE.rglob("*.js")):
        if path.parent.name != "language":
            yield from ((text, path.relative_to(ROOT).as_posix()) for text in javascript.texts(path, literals=literals))
    for path in sorted(PACKAGE.rglob("*.j2")):
        yield from ((text, path.relative_to(ROOT).as_posix()) for text in template_texts(path))
    for path in sorted(PACKAGE.rglob("*.py")):
        is_silent = path.relative_to(PACKAGE).as_posix().startswith(SILENT)
        yield from ((text, path.relative_to(ROOT).as_posix()) for text in python.texts(path, literals="none" if is_silent else literals))


def template_texts(path: Path) -> Iterator[python.Text]:
    """Yield the messages of a Jinja template."""
    for _line, _function, message in extract_from_ast(Environment().parse(path.read_text(encoding="utf-8")), ("_", "ngettext")):
        texts = (message,) if isinstance(message, str) else tuple(part for part in message if part)
        yield texts[0] if len(texts) == 1 else (texts[0], texts[1])


@cache
def template() -> Catalog:
    """Return the catalog of all texts, without translations."""
    catalog = Catalog(project="SBERT Studio", charset="utf-8")
    for text, where in texts():
        if text and text not in NAMES:
            catalog.add(text, locations=[(where, 0)])
    # A single word may be a name or a word of the page: it is one where a language has translated it.
    translated = {message.id for path in catalogs() for message in load(path)}
    for text, where in texts("all"):
        if text in translated and catalog.get(text) is None:
            catalog.add(text, locations=[(where, 0)])
    return catalog


def catalogs() -> list[Path]:
    """Return the files of the languages."""
    return sorted(LOCALE.glob("*/LC_MESSAGES/messages.po"))


def load(path: Path) -> Catalog:
    """Return the translations of one language."""
    with path.open("rb") as file:
        return read_po(file, locale=path.parents[1].name)


def missing(catalog: Catalog) -> list[str]:
    """Return the texts without a translation, each with its file."""
    return [
        f"{message.locations[0][0]}: {message.id}"
        for message in template()
        if message.id and not ((found := catalog.get(message.id)) and found.string and all(_forms(found.string)))
    ]


def unused(catalog: Catalog) -> list[str]:
    """Return translated texts that the code no longer has."""
    return [str(message.id) for message in catalog if message.id and template().get(message.id) is None]


def _forms(string: str | tuple[str, ...]) -> tuple[str, ...]:
    return string if isinstance(string, tuple) else (string,)


def write(path: Path, catalog: Catalog) -> None:
    """Write a catalog without dates and line numbers, so that it changes only with its texts. The file's own header stays."""
    header = path.read_text(encoding="utf-8").partition("\n\n")[0] if path.exists() else HEADER
    body = io.BytesIO()
    write_po(body, catalog, width=140, include_lineno=False, ignore_obsolete=True, omit_header=True)
    path.write_bytes(f"{header}\n\n".encode() + body.getvalue().rstrip() + b"\n")


def main() -> None:
    """Update the files and list missing translations; with ``--check`` only warn about missing and unused ones."""
    is_check = "--check" in sys.argv[1:]
    if not is_check:
        write(LOCALE / "messages.pot", template())
    for path in catalogs():
        catalog = load(path)
        lacks, gone = missing(catalog), unused(catalog)
        name = path.relative_to(LOCALE).as_posix()
        if not is_check:
            catalog.update(template(), no_fuzzy_matching=True, update_creation_date=False)
            write(path, catalog)
            print(f"{name}: {len(lacks)} translations missing, {len(gone)} removed")
            print("".join(f"  {line}\n" for line in lacks), end="")
        elif lacks or gone:
            print(f"warning: {name}: {len(lacks)} translations missing, {len(gone)} unused; run python docs/make_languages.py")


if __name__ == "__main__":
    main()
