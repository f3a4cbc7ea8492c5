"""Cells that say nothing but that there is no answer: ``N/A``, ``k.A.``, ``(empty)``, ``—``."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..findings import Finding, count
from .forms import count_words


def _listed(text: str) -> frozenset[str]:
    return frozenset(text.split())


KEPT = "kept as a text: its other texts are as short"
"""How the message ends that names the rows which say so and count as texts."""
NO_LABEL = _listed("- -- ? n/a na null nan #n/a")
"""The keys of labels that say that there is none: what annotators write who did not agree, and programs for nothing."""
# What no language has for a word: signs, and short forms of "not available" and the like. Blanks and dots at the end are taken off.
_SIGNS = NO_LABEL | _listed(
    """
    --- ---- – — ―  − — —— ?? ??? / . .. ... … #n/v #nv #name? #ref! #value! #wert! #bezug! #div/0! #null! #num! #zahl! #nom? #valeur!
    n/a/ n\\a n.a n.a. n.v n.v. n/v n.d n.d. n/d n.b n.b. n/b n.n. n.r. n/r k.a k.a. k/a s/o s/d s.d s.d. s/r s.r. n.c. n.p. n/p b/d b.d.
    n/f н/д н.д н.д. н/п нд н.а. <na> notavailable notapplicable noanswer nodata novalue notext nocomment nocomments noresponse
    notspecified notprovided emptystring missingvalue keineangabe keineangaben keineantwort keinkommentar keinedaten nichtverfügbar
    nichtzutreffend nichtvorhanden ohneangabe ohneangaben entfällt sansobjet nonrenseigné nondisponible nonapplicable pasderéponse
    sansréponse nondéfini noaplica nodisponible sinrespuesta sindatos sininformación nondisponibile nonapplicabile nessunarisposta
    nãodisponível nãoseaplica semresposta semdados geenantwoord nietbeschikbaar nietvantoepassing нетданных нетответа неприменимо
    неуказано brakdanych niedotyczy belirtilmemiş 暂无 暂无数据 无数据 不适用 未填写 未填 該当なし 該当無し 回答なし 未回答 未記入
    해당없음 없음. 응답없음 무응답 غيرمتوفر लागूनहीं
    """
)
# What may be a word, an answer or a name as well.
_WORDS = _listed(
    """
    none nil null nan na empty blank missing unknown undefined keine leer unbekannt fehlt néant aucun aucune vide inconnu ninguno ninguna
    vacío desconocido nessuno vuoto sconosciuto nenhum nenhuma vazio geen leeg onbekend пусто неизвестно brak nieznane boş intet 无 無 没有
    空 空白 未知 なし 無し 不明 없음 لايوجد
    """
)
_LONGEST = 40
_SHOWN = 4
_BLOCK = 8_192
_FRAMES = re.compile(r"[\s(\[{<«\"'“„]*(.*?)[\s)\]}>»\"'”“]*", re.DOTALL)
_ONE_WORD, _FEW_WORDS = 1.5, 3.0


@dataclass(frozen=True)
class Unanswered:
    """The cells of a column of texts that say that there is no text.

    Attributes:
        places: (k,) int64, the rows that say so and count as blank, from 0.
        said: what they say, each as it is written, the commonest first.
        kept: (m,) int64, the rows that say so in a column whose texts are as short, so that it may be one; they count as texts.
        kept_said: what those say.
    """

    places: np.ndarray
    said: tuple[str, ...]
    kept: np.ndarray
    kept_said: tuple[str, ...]

    def note(self, column: str, lines: np.ndarray) -> tuple[Finding, ...]:
        """What to tell of the rows that are kept, of the numbers ``lines``; nothing where there are none."""
        if not len(self.kept):
            return ()
        rows = tuple(lines[self.kept].tolist())
        say = f"{count(len(rows), 'row')} of {column!r} {'says' if len(rows) == 1 else 'say'} {quoted(self.kept_said)}"
        return (Finding("info", f"{say}, {KEPT}", rows),)


def kept_as_texts(findings: Iterable[Finding]) -> tuple[str, ...]:
    """What findings tell of rows that say so and count as texts."""
    return tuple(finding.in_words() for finding in findings if finding.message.endswith(KEPT))


def quoted(said: Sequence[str]) -> str:
    """The first of some cells, as they are written."""
    return ", ".join(map(repr, said[:_SHOWN])) + (" …" if len(said) > _SHOWN else "")


def says_nothing(cell: str) -> bool:
    """Whether a cell is nothing but a sign or a word for "no answer"."""
    return len(cell) <= _LONGEST and bool(found := _keys(cell)) and not found.isdisjoint(_SIGNS | _WORDS)


def unanswered(cells: Sequence[str]) -> Unanswered:
    """The cells of a column of texts that say that there is none.

    Where the other texts are single words a sign may be one of them, and where they are of three words or fewer a word such as
    ``none`` may be.
    """
    found: set[str] = set()
    for start in range(0, len(cells), _BLOCK):  # not the whole column as a set, which would take its memory once more
        found.update(cell for cell in set(cells[start : start + _BLOCK]) if cell.strip() and says_nothing(cell))
    if not found:
        return Unanswered(np.array([], np.int64), (), np.array([], np.int64), ())
    words = np.sort(np.fromiter((count_words(cell) for cell in cells if cell.strip() and cell not in found), np.float64))
    typical = words[len(words) // 2] if len(words) else 0.0
    signs = {cell for cell in found if not _keys(cell).isdisjoint(_SIGNS - _WORDS)}
    nothing = set() if typical <= _ONE_WORD else signs if typical <= _FEW_WORDS else found
    times = Counter(cell for cell in cells if cell in found)
    said = [[cell.strip() for cell, _ in times.most_common() if (cell in nothing) == wanted] for wanted in (True, False)]
    places = [np.array([at for at, cell in enumerate(cells) if cell in which], np.int64) for which in (nothing, found - nothing)]
    return Unanswered(places[0], tuple(dict.fromkeys(said[0])), places[1], tuple(dict.fromkeys(said[1])))


def answered(cells: Sequence[str]) -> list[str]:
    """The cells of a column of texts, blank where one says that there is no text."""
    texts = list(cells)
    for place in unanswered(cells).places.tolist():
        texts[place] = ""
    return texts


def _keys(cell: str) -> frozenset[str]:
    """What a cell is called in the lists: without case and blanks, and as well without brackets or a mark around or behind it."""
    plain = "".join(unicodedata.normalize("NFKC", cell.strip()).casefold().split())
    framed = _FRAMES.fullmatch(plain)
    bare = framed[1] if framed else plain
    return frozenset(key for key in (plain, bare, bare.rstrip(".!")) if key)
