"""Sixty layouts as people of many trades and countries make them, written without knowing how tables are read."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

from layouts import Columns, Layout, Rows


def plain(texts: Sequence[str]) -> list[str]:
    """Texts with nothing but ASCII, for files in an old encoding."""
    return [unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode() for text in texts]


def ids(r: Rows, form: str = "{}", start: int = 1, step: int = 1) -> list[str]:
    """A number of its own for each row."""
    return [form.format(start + at * step) for at in range(len(r))]


def pick(r: Rows, *values: str, seed: int = 1) -> list[str]:
    """One of some values for each row, whatever the row is."""
    chance = random.Random(seed)
    return [chance.choice(values) for _ in range(len(r))]


def days(r: Rows, form: str = "%Y-%m-%d", seed: int = 3) -> list[str]:
    """A date for each row."""
    chance = random.Random(seed)
    return [(date(2022, 1, 3) + timedelta(days=chance.randrange(900))).strftime(form) for _ in range(len(r))]


def lengths(texts: Sequence[str]) -> list[int]:
    """How many characters the texts have."""
    return [len(text) for text in texts]


def few(column: Sequence[Any], mark: Any, every: int = 67, first: int = 9) -> list[Any]:
    """A column with a mark in a few of its cells."""
    return [mark if at % every == first else value for at, value in enumerate(column)]


def comma(value: float, digits: int = 2) -> str:
    """A number with a decimal comma."""
    return f"{value:.{digits}f}".replace(".", ",")


def clip(value: float, low: float, high: float) -> float:
    """A number kept within bounds."""
    return min(high, max(low, value))


def rater(r: Rows, seed: int, low: int = 0, high: int = 5, spread: float = 0.45) -> list[int]:
    """Whole points one person gives, somewhat off the gold score."""
    chance = random.Random(seed)
    return [round(clip(low + (high - low) * score / 5 + chance.gauss(0, spread), low, high)) for score in r.score]


def shaky(r: Rows, seed: int, spread: float = 0.12) -> list[float]:
    """The scores 0–5 somewhat off."""
    chance = random.Random(seed)
    return [clip(score + chance.gauss(0, spread), 0, 5) for score in r.score]


def turned(column: Sequence[str], by: int) -> list[str]:
    """A column moved along by some rows, so that it no longer fits."""
    return [*column[by:], *column[:by]]


def alike(r: Rows) -> Rows:
    """The rows whose texts belong together."""
    return r.take([at for at, score in enumerate(r.score) if score >= 4])


def longer(texts: Sequence[str], *tails: str) -> list[str]:
    """Texts with a sentence behind them."""
    return [f"{text} {tails[at % len(tails)]}" for at, text in enumerate(texts)]


def premises(r: Rows) -> list[tuple[str, str, str]]:
    """Premises with a sentence that follows and one that contradicts."""
    found: dict[str, dict[str, str]] = {}
    for a, b, label in zip(r.a, r.b, r.label, strict=True):
        found.setdefault(a, {})[label] = b
    return [(a, said["entailment"], said["contradiction"]) for a, said in found.items() if {"entailment", "contradiction"} <= set(said)]


BANKING = [
    "Refund_not_showing_up",
    "atm_support",
    "beneficiary_not_allowed",
    "card_arrival",
    "card_payment_fee_charged",
    "cash_withdrawal_charge",
    "contactless_not_working",
    "declined_transfer",
    "exchange_charge",
    "failed_transfer",
    "getting_spare_card",
    "order_physical_card",
    "pending_top_up",
    "request_refund",
    "top_up_by_bank_transfer_charge",
    "top_up_limits",
    "transfer_fee_charged",
    "unable_to_verify_identity",
    "virtual_card_not_working",
    "wrong_exchange_rate_for_cash_withdrawal",
]


def area(label: str) -> str:
    """The larger area a banking question is from."""
    if "charge" in label or "fee" in label or "rate" in label:
        return "fees"
    if "transfer" in label or "beneficiary" in label:
        return "transfers"
    if "top_up" in label:
        return "topup"
    if "refund" in label.lower():
        return "refunds"
    return "identity" if "identity" in label else "cards"


# -- two texts and a score


def claims(r: Rows) -> Columns:
    raters = [rater(r, seed) for seed in (11, 12, 13)]
    return {
        "Schaden-Nr.": ids(r, "KH-2023-{:05d}", 311, 3),
        "Eingang": days(r, "%d.%m.%Y"),
        "Meldung alt": plain(r.a),
        "Meldung neu": plain(r.b),
        "Gutachter 1": raters[0],
        "Gutachter 2": raters[1],
        "Gutachter 3": raters[2],
        "Mittelwert Übereinstimmung": [comma(sum(given) / 3) for given in zip(*raters, strict=True)],
        "Bemerkung": few([""] * len(r), "bitte nochmal prüfen", 41),
    }


def museum(r: Rows) -> Columns:
    return {
        "Leltári szám": ids(r, "{}.2019.1", 55),
        "Leírás (régi katalógus)": plain(r.a),
        "Leírás (új katalógus)": plain(r.b),
        "Hasonlóság [%]": [str(round(score * 20)) for score in shaky(r, 21)],
        "Leíró neve": pick(r, "Kőszegi Ágnes", "Tóth Béla", "Szűcs Márton"),
    }


def patents(r: Rows) -> Columns:
    return {
        "claim_id": ids(r, "EP{}B1-c1", 2001433, 17),
        "claim_text": few(r.a, "N/A", 131),
        "prior_art_passage": r.b,
        "novelty_distance": [f"{1 - score / 5:.3f}" for score in r.score],
        "examiner": pick(r, "MKL", "TDS", "OPB"),
        "ipc_year": pick(r, "2006", "2011", "2015", "2018"),
    }


def recipes(r: Rows) -> Columns:
    return {
        "Rezeptschritt": r.a,
        "Schritt im anderen Buch": r.b,
        "Wie ähnlich?": [f"{round(score * 2)} von 10" for score in r.score],
        "Seite": pick(r, "12", "48", "77", "103", "154", seed=5),
    }


def subtitles(r: Rows) -> Columns:
    return {
        "cue": ids(r, "{:04d}"),
        "timecode": [f"00:{at // 60 % 60:02d}:{at % 60:02d},{at * 37 % 1000:03d}" for at in range(len(r))],
        "reference subtitle": r.a,
        "submitted subtitle": r.b,
        "meaning errors (count)": [round((5 - score) * 2.4) for score in r.score],
        "chars": lengths(r.b),
        "QC by": pick(r, "Noor", "Ewan", "Lise"),
    }


def plagiarism(r: Rows) -> Columns:
    return {
        "Matrikelnummer": ids(r, "{}", 4410023, 7),
        "Passage Hausarbeit": r.a,
        "Passage Quelle": r.b,
        "Deckung": [f"{comma(score * 20, 1)} %" for score in r.score],
    }


def ontology(r: Rows) -> Columns:
    return {
        "source_iri": ids(r, "http://onto.example/a#C{:06d}", 14),
        "source_definition": r.a,
        "target_iri": ids(r, "http://onto.example/b#T{:06d}", 902, 3),
        "target_definition": r.b,
        "relation": ["skos:related"] * len(r),
        "confidence": [score * 0.2 for score in r.score],
    }


def parish(r: Rows) -> Columns:
    return {
        "Löpnr": ids(r),
        "Församling": pick(r, "Mörbylånga", "Algutsrum", "Torslunda", "Köping"),
        "Svar 2021": r.a,
        "Svar 2023": r.b,
        "Likhet 1-5 (99 = vet ej)": few(rater(r, 31, 1, 5, 0.2), 99, 57),
    }


def pharma(r: Rows) -> Columns:
    return {
        "case_a": ids(r, "ICSR-{}", 700121, 2),
        "case_b": ids(r, "ICSR-{}", 912044, 5),
        "narrative_a": r.a,
        "narrative_b": few(r.b, "N/A", 140),
        "duplicate_likelihood_pct": few([round(score * 20) for score in r.score], -1, 61),
        "received": days(r, "%d-%b-%Y"),
        "seriousness": pick(r, "S", "NS"),
    }


def hotline(r: Rows) -> Columns:
    return {
        "Na.": ids(r),
        "Mkoa": pick(r, "Mwanza", "Iringa", "Dodoma", "Arusha", "Tanga"),
        "Swali la mkulima": r.a,
        "Swali linalofanana": r.b,
        "Ufanano (0-10)": [f"{score * 2:.1f}" for score in r.score],
        "Tarehe": days(r, "%d/%m/%Y"),
    }


def council(r: Rows) -> Columns:
    return {
        "Protocolo": ids(r, "CM-{:06d}/2022", 150),
        "Petição": plain(r.a),
        "Petição anterior": plain(r.b),
        "Nota de semelhança": [comma(1 + 6 * score / 5, 1) for score in r.score],
        "Freguesia": pick(r, "Arroios", "Ajuda", "Belém", "Estrela", "Olivais"),
        "Observações": [""] * len(r),
    }


def memory(r: Rows) -> Columns:
    return {
        "TU": ids(r, "tu{:07d}", 48201),
        "new segment": r.a,
        "segment in TM": r.b,
        "fuzzy": few([round(score * 20) for score in r.score], 999, 73),
        "words": [len(text.split()) for text in r.a],
        "project": pick(r, "ACME-manual", "ACME-web", "KRT-2020"),
    }


def essays(r: Rows) -> Columns:
    return {
        "Schüler": ids(r, "S{:03d}"),
        "Klasse": pick(r, "8a", "8b", "8c"),
        "Satz im Original": r.a,
        "Satz der Nacherzählung": r.b,
        "Note": [round(6 - score) for score in r.score],
    }


def ranked(r: Rows) -> Columns:
    order = sorted(range(len(r)), key=lambda at: -r.score[at])
    place = {at: number + 1 for number, at in enumerate(order)}
    return {
        "call_ref": ids(r, "C{}", 88014, 11),
        "agent said": r.a,
        "script line": r.b,
        "rank (1 = closest match)": [place[at] for at in range(len(r))],
        "duration_s": [40 + at * 53 % 410 for at in range(len(r))],
    }


def chinese(r: Rows) -> Columns:
    return {
        "序号": ids(r),
        "句子甲": r.a,
        "句子乙": r.b,
        "相似程度": [f"{score:.0f}" for score in r.score],
        "标注员": pick(r, "小王", "小李", "老张"),
    }


def baseball(r: Rows) -> Columns:
    return {
        "番号": ids(r, "{:04d}"),
        "実況A": plain(r.a),
        "実況B": plain(r.b),
        "類似度(5点満点)": [f"{score:.1f}" for score in r.score],
        "放送日": days(r, "%Y年%m月%d日"),
    }


def chatbot(r: Rows) -> Columns:
    first, second = few(rater(r, 41), ""), few(rater(r, 42), "", 59, 20)
    given = [[points for points in both if points != ""] for both in zip(first, second, strict=True)]
    return {
        "대화번호": ids(r, "chat-{}", 30021),
        "사용자 발화": few(plain(r.a), "N/A", 111),
        "비교 발화": plain(r.b),
        "평가1": first,
        "평가2": second,
        "유사도 평균": [sum(points) / len(points) for points in given],
        "비고": few([""] * len(r), "확인 필요", 83),
    }


def game(r: Rows) -> Columns:
    return {
        "player_msg": r.a,
        "macro_text": r.b,
        "fits": [f"{round(score)}/5" for score in r.score],
        "shard": pick(r, "eu-1", "eu-2", "na-1", "kr-1"),
        "level": [1 + at * 29 % 80 for at in range(len(r))],
    }


def nested(r: Rows) -> Columns:
    return {
        "uid": ids(r, "ex_{}"),
        "pair": [[a, b] for a, b in zip(r.a, r.b, strict=True)],
        "sim": [round(score / 5, 4) for score in r.score],
        "src": pick(r, "forum", "captions", "news"),
    }


def relatedness(r: Rows) -> Columns:
    chance = random.Random(51)
    return {
        "HITId": ids(r, "3XYZ{:06d}", 771, 13),
        "Input.left": r.a,
        "Input.right": r.b,
        "n_workers": [10] * len(r),
        "Answer.mean": [f"{score:.2f}" for score in r.score],
        "Answer.sd": [f"{chance.uniform(0.2, 1.3):.2f}" for _ in range(len(r))],
        "WorkTimeInSeconds": [chance.randrange(8, 190) for _ in range(len(r))],
    }


def slider(r: Rows) -> Columns:
    return {
        "Teilnehmer": pick(r, "P01", "P02", "P03", "P04", "P05", "P06"),
        "linker Satz": r.a,
        "rechter Satz": r.b,
        "Regler\n(-3 = ganz verschieden, +3 = ganz gleich)": [comma(-3 + 6 * score / 5, 2) for score in shaky(r, 61, 0.05)],
        "Reaktionszeit\n(ms)": [700 + at * 613 % 5200 for at in range(len(r))],
    }


def persian(r: Rows) -> Columns:
    return {
        "ردیف": ids(r),
        "جمله اول": r.a,
        "جمله دوم": r.b,
        "نمره شباهت (از ۲۰)": [f"{score * 4:.1f}" for score in r.score],
    }


def bare_scores(r: Rows) -> Columns:
    return {
        "column_1": ids(r, "{}", 5000),
        "column_2": [f"{score:.3f}" for score in r.score],
        "column_3": r.a,
        "column_4": r.b,
    }


def products(r: Rows) -> Columns:
    return {
        "Réf. fournisseur": ids(r, "F-{:05d}", 1200, 4),
        "Désignation catalogue": plain(r.a),
        "Désignation fournisseur": plain(r.b),
        "Écart (0 = identique, 100 = sans rapport)": [round(100 - score * 20) for score in r.score],
        "Prix € HT": [comma(3 + at * 7.31 % 240) for at in range(len(r))],
        "Saisi par": pick(r, "Hélène", "Jérôme", "Aïcha"),
    }


# -- two texts and a label


def romanian(r: Rows) -> Columns:
    return {
        "Nr. crt.": ids(r),
        "Premisă": plain(r.a),
        "Ipoteză": plain(r.b),
        "Relaţie": r.named({"entailment": "rezultă", "neutral": "neutru", "contradiction": "contrazice"}),
        "Adnotator": pick(r, "Ioana", "Mihai"),
    }


def faq(r: Rows) -> Columns:
    r = r.clear()
    return {
        "faq_new": r.a,
        "faq_old": r.b,
        "dup": r.cut("nodup", "dup"),
        "views": [at * 97 % 1800 for at in range(len(r))],
        "last_edit": days(r),
    }


def coded(r: Rows) -> Columns:
    r = r.clear()
    return {
        "lfd": ids(r),
        "Frage Welle 1": r.a,
        "Frage Welle 2": r.b,
        "Inhalt gleich? (1=ja, 2=nein)": r.cut("2", "1"),
        "Interviewer": pick(r, "17", "23", "31", "44"),
    }


def stance(r: Rows) -> Columns:
    return {
        "t": r.a,
        "h": r.b,
        "rel": r.named({"entailment": "1", "neutral": "0", "contradiction": "-1"}),
        "fold": pick(r, "train", "dev", "test"),
    }


def stars(r: Rows) -> Columns:
    return {
        "Review headline": r.a,
        "Suggested headline": r.b,
        "How close?": r.cut("★", "★★", "★★★", "★★★★", "★★★★★"),
        "Shop": pick(r, "Leeds", "York", "Hull"),
    }


def hebrew(r: Rows) -> Columns:
    r = r.clear()
    return {
        "מספר": ids(r),
        "פנייה א": plain(r.a),
        "פנייה ב": plain(r.b),
        "אותו נושא": r.cut("לא", "כן"),
        "תאריך": days(r, "%d.%m.%y"),
    }


DUTCH = ("helemaal oneens", "oneens", "neutraal", "eens", "helemaal eens")


def dutch(r: Rows) -> Columns:
    return {
        "respondent": ids(r, "R{:04d}", 12),
        "zin 1": r.a,
        "zin 2": r.b,
        "De zinnen betekenen hetzelfde": few(r.cut(*DUTCH), "", 71),
        "provincie": pick(r, "Zeeland", "Drenthe", "Limburg", "Utrecht"),
    }


def indonesian(r: Rows) -> Columns:
    return {
        "no_tiket": ids(r, "TKT{:06d}", 4501),
        "keluhan_a": r.a,
        "keluhan_b": r.b,
        "penilaian": r.cut("tidak mirip", "agak mirip", "mirip", "sangat mirip"),
        "penilai": pick(r, "Sari", "Budi", "Wayan"),
    }


def thai(r: Rows) -> Columns:
    return {
        "ลำดับ": ids(r),
        "ข้อความ 1": plain(r.a),
        "ข้อความ 2": plain(r.b),
        "ผล": r.cut("ต่างกัน", "คล้ายกัน", "เหมือนกัน"),
    }


def excel(r: Rows) -> Columns:
    return {
        "SKU left": ids(r, "L{}", 10021, 3),
        "Description left": r.a,
        "SKU right": ids(r, "R{}", 77012, 5),
        "Description right": few(r.b, "N/A", 133),
        "Same item?": r.named({"1": "TRUE", "0": "FALSE"}),
        "Checked on": days(r, "%m/%d/%Y"),
    }


def letters(r: Rows) -> Columns:
    return {
        "Item": ids(r),
        "Model answer": r.a,
        "Pupil's answer": r.b,
        "Grade": r.cut("D", "C", "B", "A"),
        "School": pick(r, "St Mary's", "Hill Road", "Kingsmead"),
    }


def crowd(r: Rows) -> Columns:
    r = r.clear()
    gold = r.cut("否", "是")
    chance = random.Random(71)
    votes = [[("是" if said == "否" else "否") if chance.random() < 0.08 else said for said in gold] for _ in range(3)]
    return {
        "題號": ids(r, "Q{:04d}"),
        "問題一": plain(r.a),
        "問題二": plain(r.b),
        "工人1": votes[0],
        "工人2": votes[1],
        "工人3": votes[2],
        "多數決(是否同義)": ["是" if sum(vote == "是" for vote in given) > 1 else "否" for given in zip(*votes, strict=True)],
    }


# -- two texts that belong together


def mails(r: Rows) -> Columns:
    r = alike(r)
    return {
        "Ticket": ids(r, "#{}", 20311),
        "Subject": r.a,
        "Body": longer(r.b, "Please get back to me soon.", "This happened yesterday evening.", "I have attached a picture of it."),
        "Received": days(r, "%Y-%m-%d 08:15"),
    }


def constant(r: Rows) -> Columns:
    r = alike(r)
    return {"id": list(range(len(r))), "query": r.a, "clicked_title": r.b, "label": [1] * len(r)}


def paraphrases(r: Rows) -> Columns:
    r = alike(r)
    r = r.take([*range(len(r)), *range(0, len(r), 9)])
    return {"orig": r.a, "reworded": r.b, "len_orig": lengths(r.a), "len_reworded": lengths(r.b)}


def news(r: Rows) -> Columns:
    r = alike(r)
    return {
        "guid": ids(r, "urn:news:{}", 99120, 3),
        "headline": r.a,
        "summary": longer(r.b, "More details are expected later.", "No one else was there.", "It was reported on Tuesday."),
        "keywords": [None] * len(r),
    }


def bare_pairs(r: Rows) -> Columns:
    r = alike(r)
    return {"column_1": ids(r, "seg-{:05d}", 40), "column_2": r.a, "column_3": r.b}


def polish(r: Rows) -> Columns:
    r = alike(r)
    return {
        "L.p.": ids(r),
        "Pytanie pacjenta": plain(r.a),
        "To samo inaczej": plain(r.b),
        "Źródło": ["zgłoszenie"] * len(r),
        "Uwagi": [""] * len(r),
    }


# -- triplets


def mined(r: Rows) -> Columns:
    r = alike(r)
    return {
        "query": r.a,
        "pos": r.b,
        "neg": [list(some) for some in zip(turned(r.b, 7), turned(r.b, 19), turned(r.b, 31), strict=True)],
        "qid": list(range(1000, 1000 + len(r))),
    }


def shelf(r: Rows) -> Columns:
    r = alike(r)
    return {
        "row": list(range(len(r))),
        "anchor": r.a,
        "positive": r.b,
        "negatives": [list(some) for some in zip(turned(r.b, 11), turned(r.a, 23), strict=True)],
    }


def quiz(r: Rows) -> Columns:
    r = alike(r)
    return {
        "wrong_answer": turned(r.b, 13),
        "question": r.a,
        "right_answer": r.b,
        "asked_on": days(r),
    }


def german_triplets(r: Rows) -> Columns:
    rows = premises(r)
    return {
        "Nr": [at + 1 for at in range(len(rows))],
        "Ausgangssatz": plain([row[0] for row in rows]),
        "passt": plain([row[1] for row in rows]),
        "passt nicht": plain([row[2] for row in rows]),
        "geprüft von": ["Jürgen" if at % 3 else "Käthe" for at in range(len(rows))],
    }


def bare_triplets(r: Rows) -> Columns:
    r = alike(r)
    return {"column_1": r.a, "column_2": r.b, "column_3": turned(r.b, 17)}


def two_hard(r: Rows) -> Columns:
    r = alike(r)
    return {
        "Listing": r.a,
        "Correct match": r.b,
        "Wrong match 1": turned(r.b, 5),
        "Wrong match 2": turned(r.b, 29),
        "Picked by": pick(r, "Ola", "Femi", "Ngozi"),
    }


# -- a text and a category


def tickets(r: Rows) -> Columns:
    return {
        "Ticket No": ids(r, "INC{:07d}", 55210, 3),
        "Opened": days(r, "%d/%m/%Y"),
        "Short description": few(r.a, "N/A", 137),
        "Assignment path": [f"Service Desk/{area(label).title()}/{label.replace('_', ' ')}" for label in r.label],
        "Channel": ["web form"] * len(r),
    }


def codes(r: Rows) -> Columns:
    return {
        "nr": ids(r),
        "tekst": r.a,
        "kode": [f"K-{100 + 7 * BANKING.index(label)}" for label in r.label],
        "lengde": lengths(r.a),
    }


def emojis(r: Rows) -> Columns:
    signs = {"fees": "💸", "transfers": "🔁", "topup": "🔋", "refunds": "↩️", "identity": "🪪", "cards": "💳"}
    return {"msg_id": ids(r, "{}", 918273, 19), "message": r.a, "tag": [signs[area(label)] for label in r.label]}


def numbered(r: Rows) -> Columns:
    return {
        "Belegnr.": ids(r, "B{:05d}", 77),
        "Frage": r.a,
        "Sachgebiet": [str((310, 320, 345, 400, 412, 550)[int(label)]) for label in r.label],
        "Zeichen": lengths(r.a),
        "Stand": ["01.03.2024"] * len(r),
    }


CZECH = ("Vysvětlení pojmu", "Věci a díla", "Význam zkratky", "Lidé a skupiny", "Místa a země", "Čísla a data")
RUSSIAN = ("Описание", "Предмет", "Сокращение", "Человек", "Место", "Число")
GREEK = ("Περιγραφή", "Αντικείμενο", "Συντομογραφία", "Πρόσωπο", "Τόπος", "Αριθμός")


def czech(r: Rows) -> Columns:
    return {
        "Č. dotazu": ids(r),
        "Dotaz čtenáře": plain(r.a),
        "Oddělení knihovny": few([CZECH[int(label)] for label in r.label], "", 79),
        "Přijato": days(r, "%d.%m.%Y"),
    }


def russian(r: Rows) -> Columns:
    return {"№": ids(r), "Рубрика": [RUSSIAN[int(label)] for label in r.label], "Вопрос": plain(r.a), "Примечание": [""] * len(r)}


def intents(r: Rows) -> Columns:
    return {
        "utterance": r.a,
        "intent": [f"banking.{area(label)}.{label.lower()}" for label in r.label],
        "lang": ["en"] * len(r),
        "ts": [1672531200 + at * 3671 for at in range(len(r))],
    }


def greek(r: Rows) -> Columns:
    return {
        "Α/Α": ids(r),
        "Ερώτηση": plain(r.a),
        "Είδος": [GREEK[int(label)] for label in r.label],
        "Ημερομηνία": days(r, "%d/%m/%Y"),
    }


def misnamed(r: Rows) -> Columns:
    return {
        "label": ids(r, "sticker {:04d}"),
        "title": [label.replace("_", " ").capitalize() for label in r.label],
        "comment": r.a,
        "wait (min)": [2 + at * 17 % 45 for at in range(len(r))],
    }


# -- bare texts


def survey(r: Rows) -> Columns:
    return {
        "Fragebogen": ids(r, "FB-{:04d}", 9),
        "Abgegeben\nam": days(r, "%d.%m.%Y"),
        "Was wünschen Sie\nsich von der Gemeinde": [""] * len(r),
        "Freitext": few(r.a, "", 89),
    }


def lines(r: Rows) -> Columns:
    return {"column_1": r.a}


def corpus(r: Rows) -> Columns:
    return {"doc": ids(r, "d{:08x}", 65000, 77), "sentence": r.b, "n_chars": lengths(r.b), "lang": ["eng"] * len(r)}


LAYOUTS: list[Layout] = [
    Layout(
        "eighth: insurance claims, three assessors and their mean",
        "stsb",
        claims,
        "scored_pairs",
        ("Meldung alt", "Meldung neu"),
        "Mittelwert Übereinstimmung",
        scale=(0, 5),
        write="semicolon cp1252",
    ),
    Layout(
        "eighth: Hungarian museum catalogue, per cent",
        "stsb",
        museum,
        "scored_pairs",
        ("Leírás (régi katalógus)", "Leírás (új katalógus)"),
        "Hasonlóság [%]",
        scale=(0, 100),
        write="semicolon cp1250",
    ),
    Layout(
        "eighth: patents, distance to prior art",
        "stsb",
        patents,
        "scored_pairs",
        ("claim_text", "prior_art_passage"),
        "novelty_distance",
        scale=(1, 0),
    ),
    Layout(
        "eighth: recipes, so many von 10",
        "stsb",
        recipes,
        "scored_pairs",
        ("Rezeptschritt", "Schritt im anderen Buch"),
        "Wie ähnlich?",
    ),
    Layout(
        "eighth: subtitles, errors counted",
        "stsb",
        subtitles,
        "scored_pairs",
        ("reference subtitle", "submitted subtitle"),
        "meaning errors (count)",
        scale=(12, 0),
        write="tsv",
    ),
    Layout(
        "eighth: plagiarism check, per cent signs",
        "stsb",
        plagiarism,
        "scored_pairs",
        ("Passage Hausarbeit", "Passage Quelle"),
        "Deckung",
        write="semicolon utf-8-sig",
    ),
    Layout(
        "eighth: ontology matching in Parquet",
        "stsb",
        ontology,
        "scored_pairs",
        ("source_definition", "target_definition"),
        "confidence",
        scale=(0, 1),
        write="parquet",
    ),
    Layout(
        "eighth: Swedish parish survey, 99 for no answer",
        "stsb",
        parish,
        "scored_pairs",
        ("Svar 2021", "Svar 2023"),
        "Likhet 1-5 (99 = vet ej)",
        scale=(1, 5),
        write="semicolon",
        above=("Församlingsenkäten 2021/2023", "Sammanställd av kyrkorådet"),
    ),
    Layout(
        "eighth: pharmacovigilance duplicates, -1 for not assessed",
        "stsb",
        pharma,
        "scored_pairs",
        ("narrative_a", "narrative_b"),
        "duplicate_likelihood_pct",
        scale=(0, 100),
    ),
    Layout(
        "eighth: Swahili farmers' hotline",
        "stsb",
        hotline,
        "scored_pairs",
        ("Swali la mkulima", "Swali linalofanana"),
        "Ufanano (0-10)",
        scale=(0, 10),
    ),
    Layout(
        "eighth: Portuguese petitions, 1 to 7 with commas",
        "stsb",
        council,
        "scored_pairs",
        ("Petição", "Petição anterior"),
        "Nota de semelhança",
        scale=(1, 7),
        write="semicolon cp1252",
    ),
    Layout(
        "eighth: translation memory, 999 for no match run",
        "stsb",
        memory,
        "scored_pairs",
        ("new segment", "segment in TM"),
        "fuzzy",
        scale=(0, 100),
        write="pipe",
    ),
    Layout(
        "eighth: school grades, 1 is best",
        "stsb",
        essays,
        "scored_pairs",
        ("Satz im Original", "Satz der Nacherzählung"),
        "Note",
        scale=(6, 1),
        write="semicolon",
        above=("Nacherzählungen Jahrgang 8", "Note 1 = gleiche Aussage, Note 6 = ganz andere Aussage"),
    ),
    Layout(
        "eighth: call centre, ranks",
        "stsb",
        ranked,
        "scored_pairs",
        ("agent said", "script line"),
        "rank (1 = closest match)",
        scale=(400, 1),
    ),
    Layout(
        "eighth: Chinese in gb18030",
        "stsb-zh",
        chinese,
        "scored_pairs",
        ("句子甲", "句子乙"),
        "相似程度",
        scale=(0, 5),
        write="csv gb18030",
    ),
    Layout(
        "eighth: Japanese sports commentary in shift_jis",
        "stsb",
        baseball,
        "scored_pairs",
        ("実況A", "実況B"),
        "類似度(5点満点)",
        scale=(0, 5),
        write="csv shift_jis",
    ),
    Layout(
        "eighth: Korean chatbot log in euc-kr, two raters",
        "stsb",
        chatbot,
        "scored_pairs",
        ("사용자 발화", "비교 발화"),
        "유사도 평균",
        scale=(0, 5),
        write="csv euc-kr",
    ),
    Layout(
        "eighth: game support, fractions",
        "stsb",
        game,
        "scored_pairs",
        ("player_msg", "macro_text"),
        "fits",
    ),
    Layout(
        "eighth: JSONL with the pair as a list",
        "stsb",
        nested,
        "scored_pairs",
        ("text1", "text2"),  # a list of two is called so
        "sim",
        scale=(0, 1),
        write="jsonl",
    ),
    Layout(
        "eighth: crowd-work export with mean and deviation",
        "sick",
        relatedness,
        "scored_pairs",
        ("Input.left", "Input.right"),
        "Answer.mean",
        scale=(1, 5),
    ),
    Layout(
        "eighth: lab slider from -3 to 3, line breaks in the header",
        "stsb",
        slider,
        "scored_pairs",
        ("linker Satz", "rechter Satz"),
        "Regler (-3 = ganz verschieden, +3 = ganz gleich)",  # a name has no line breaks
        scale=(-3, 3),
        write="semicolon",
    ),
    Layout(
        "eighth: Persian in utf-16, out of 20",
        "stsb",
        persian,
        "scored_pairs",
        ("جمله اول", "جمله دوم"),
        "نمره شباهت (از ۲۰)",
        scale=(0, 20),
        write="tsv utf-16",
    ),
    Layout(
        "eighth: no header, score before the texts",
        "stsb",
        bare_scores,
        "scored_pairs",
        ("column_3", "column_4"),
        "column_2",
        scale=(0, 5),
        write="tsv",
        header=False,
    ),
    Layout(
        "eighth: French product catalogue, difference",
        "stsb",
        products,
        "scored_pairs",
        ("Désignation catalogue", "Désignation fournisseur"),
        "Écart (0 = identique, 100 = sans rapport)",
        scale=(100, 0),
        write="semicolon cp1252",
    ),
    Layout(
        "eighth: Romanian inference in cp1250",
        "snli",
        romanian,
        "labelled_pairs",
        ("Premisă", "Ipoteză"),
        "Relaţie",
        ("contrazice", "neutru", "rezultă"),
        True,
        write="csv cp1250",
    ),
    Layout(
        "eighth: FAQ, dup and nodup in a column dup",
        "stsb",
        faq,
        "labelled_pairs",
        ("faq_old", "faq_new"),  # in either order
        "dup",
        ("nodup", "dup"),
    ),
    Layout(
        "eighth: panel questions, 1 yes and 2 no",
        "stsb",
        coded,
        "labelled_pairs",
        ("Frage Welle 1", "Frage Welle 2"),
        "Inhalt gleich? (1=ja, 2=nein)",
        ("2", "1"),
        write="semicolon",
    ),
    Layout(
        "eighth: inference as -1, 0, 1",
        "sick",
        stance,
        "scored_pairs",  # meant as three ordered labels, which is the same
        ("t", "h"),
        "rel",
        scale=(-1, 1),
        write="tsv",
    ),
    Layout(
        "eighth: review headlines, stars",
        "stsb",
        stars,
        "labelled_pairs",
        ("Review headline", "Suggested headline"),
        "How close?",
        ("★", "★★", "★★★", "★★★★", "★★★★★"),
        True,
    ),
    Layout(
        "eighth: Hebrew enquiries, yes and no in cp1255",
        "stsb",
        hebrew,
        "labelled_pairs",
        ("פנייה א", "פנייה ב"),
        "אותו נושא",
        ("לא", "כן"),
        write="csv cp1255",
    ),
    Layout(
        "eighth: Dutch agreement",
        "stsb",
        dutch,
        "labelled_pairs",
        ("zin 1", "zin 2"),
        "De zinnen betekenen hetzelfde",
        DUTCH,
        True,
        write="semicolon",
    ),
    Layout(
        "eighth: Indonesian complaints, four words",
        "stsb",
        indonesian,
        "labelled_pairs",
        ("keluhan_a", "keluhan_b"),
        "penilaian",
        ("tidak mirip", "agak mirip", "mirip", "sangat mirip"),
        True,
        write="json",
    ),
    Layout(
        "eighth: Thai, three words in cp874",
        "stsb",
        thai,
        "labelled_pairs",
        ("ข้อความ 1", "ข้อความ 2"),
        "ผล",
        ("ต่างกัน", "คล้ายกัน", "เหมือนกัน"),
        True,
        write="csv cp874",
    ),
    Layout(
        "eighth: product matching, TRUE and FALSE",
        "mrpc",
        excel,
        "labelled_pairs",
        ("Description left", "Description right"),
        "Same item?",
        ("FALSE", "TRUE"),
        write="csv utf-8-sig",
    ),
    Layout(
        "eighth: pupils' answers, grades A to D",
        "stsb",
        letters,
        "labelled_pairs",
        ("Model answer", "Pupil's answer"),
        "Grade",
        ("D", "C", "B", "A"),
        True,
        above=("Marking sheet - A = says the same as the model answer; D = nothing in common",),
    ),
    Layout(
        "eighth: crowd votes and their majority in big5",
        "stsb",
        crowd,
        "labelled_pairs",
        ("問題一", "問題二"),
        "多數決(是否同義)",
        ("否", "是"),
        write="csv big5",
    ),
    Layout("eighth: mails, subject and body", "stsb", mails, "positive_pairs", ("Subject", "Body")),
    Layout("eighth: clicks, label always 1", "stsb", constant, "positive_pairs", ("query", "clicked_title"), write="parquet"),
    Layout("eighth: reworded sentences, some twice", "stsb", paraphrases, "positive_pairs", ("orig", "reworded"), write="tsv"),
    Layout("eighth: headlines and summaries in JSON", "stsb", news, "positive_pairs", ("headline", "summary"), write="json"),
    Layout(
        "eighth: pairs without header behind an id",
        "stsb",
        bare_pairs,
        "positive_pairs",
        ("column_2", "column_3"),
        write="pipe",
        header=False,
    ),
    Layout(
        "eighth: Polish patients' questions in cp1250",
        "stsb",
        polish,
        "positive_pairs",
        ("Pytanie pacjenta", "To samo inaczej"),
        write="semicolon cp1250",
        above=("Poradnia - pytania i przeformułowania",),
    ),
    Layout("eighth: JSONL with three negatives", "stsb", mined, "triplets", ("query", "pos", "neg", "neg_2", "neg_3"), write="jsonl"),
    Layout(
        "eighth: Parquet with two negatives",
        "stsb",
        shelf,
        "triplets",
        ("anchor", "positive", "negatives", "negatives_2"),
        write="parquet",
    ),
    Layout("eighth: quiz, wrong answer first", "stsb", quiz, "triplets", ("question", "right_answer", "wrong_answer")),
    Layout(
        "eighth: German sentence, fits, fits not",
        "snli",
        german_triplets,
        "triplets",
        ("Ausgangssatz", "passt", "passt nicht"),
        write="semicolon cp1252",
    ),
    Layout(
        "eighth: triplets without header",
        "stsb",
        bare_triplets,
        "triplets",
        ("column_1", "column_2", "column_3"),
        write="tsv",
        header=False,
    ),
    Layout(
        "eighth: listings with two wrong matches",
        "stsb",
        two_hard,
        "triplets",
        ("Listing", "Correct match", "Wrong match 1", "Wrong match 2"),
        write="csv utf-16",
    ),
    Layout(
        "eighth: ticket routing by path",
        "banking77",
        tickets,
        "labelled_texts",
        ("Short description",),
        "Assignment path",
        ordered=False,
    ),
    Layout("eighth: Norwegian subject codes", "banking77", codes, "labelled_texts", ("tekst",), "kode", ordered=False, write="semicolon"),
    Layout("eighth: chat tagged with emojis", "banking77", emojis, "labelled_texts", ("message",), "tag", ordered=False),
    Layout(
        "eighth: subject areas as numbers",
        "trec",
        numbered,
        "labelled_texts",
        ("Frage",),
        "Sachgebiet",
        ordered=False,
        write="semicolon",
        above=("Auskunftsdienst, Fragen nach Sachgebiet (Aktenplan)", ""),
    ),
    Layout(
        "eighth: Czech library departments",
        "trec",
        czech,
        "labelled_texts",
        ("Dotaz čtenáře",),
        "Oddělení knihovny",
        ordered=False,
        write="semicolon cp1250",
    ),
    Layout(
        "eighth: Russian headings before the text in cp1251",
        "trec",
        russian,
        "labelled_texts",
        ("Вопрос",),
        "Рубрика",
        ordered=False,
        write="semicolon cp1251",
    ),
    Layout(
        "eighth: intents with dots in JSONL",
        "banking77",
        intents,
        "labelled_texts",
        ("utterance",),
        "intent",
        ordered=False,
        write="jsonl",
    ),
    Layout(
        "eighth: Greek questions in cp1253",
        "trec",
        greek,
        "labelled_texts",
        ("Ερώτηση",),
        "Είδος",
        ordered=False,
        write="csv cp1253",
    ),
    Layout("eighth: category called title", "banking77", misnamed, "labelled_texts", ("comment",), "title", ordered=False),
    Layout("eighth: survey free text", "trec", survey, "sentences", ("Freitext",), write="semicolon"),
    Layout("eighth: one text a line", "banking77", lines, "sentences", ("column_1",), header=False),
    Layout("eighth: corpus in Parquet", "sick", corpus, "sentences", ("sentence",), write="parquet"),
]
