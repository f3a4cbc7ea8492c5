"""Fifty tables as people bring them, written without a look at the program or at the other sets."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

from layouts import Columns, Layout, Rows


def ids(count: int, pattern: str = "{}", first: int = 1) -> list[str]:
    """Numbers of rows, written somehow."""
    return [pattern.format(first + at) for at in range(count)]


def some(count: int, seed: int, *values: Any) -> list[Any]:
    """Values that have nothing to do with the rows."""
    dice = random.Random(seed)
    return [dice.choice(values) for _ in range(count)]


def numbers(count: int, seed: int, low: float, high: float, digits: int = 2) -> list[float]:
    """Numbers that have nothing to do with the rows."""
    dice = random.Random(seed)
    return [round(dice.uniform(low, high), digits) for _ in range(count)]


def days(count: int, seed: int, pattern: str = "{2:04d}-{1:02d}-{0:02d}", year: int = 2023) -> list[str]:
    """Dates: {0} the day, {1} the month, {2} the year."""
    dice = random.Random(seed)
    return [pattern.format(dice.randint(1, 28), dice.randint(1, 12), year) for _ in range(count)]


def plain(texts: Sequence[str]) -> list[str]:
    """The texts in ASCII."""
    table = str.maketrans({"‘": "'", "’": "'", "‚": ",", "“": '"', "”": '"', "–": "-", "—": "-"})
    return [unicodedata.normalize("NFKD", text.translate(table)).encode("ascii", "ignore").decode() for text in texts]


def comma(value: float, digits: int = 1) -> str:
    """With a decimal comma."""
    return f"{value:.{digits}f}".replace(".", ",")


def where(rows: Rows, wanted: Callable[[int], bool]) -> Rows:
    """The rows at the wanted places."""
    return rows.take([at for at in range(len(rows)) if wanted(at)])


def alike(rows: Rows) -> Rows:
    """Pairs that say the same: label 1, entailment, or a high score."""
    if rows.label:
        return where(rows, lambda at: rows.label[at] in ("1", "entailment"))
    return where(rows, lambda at: rows.score[at] >= 3.75)


def turned(texts: Sequence[str], by: int = 17) -> list[str]:
    """The texts, each in another row."""
    return [texts[(at + by) % len(texts)] for at in range(len(texts))]


def two(rows: Rows, low: str, high: str) -> list[str]:
    """Two classes of clear rows."""
    return [high if score > 2.5 else low for score in rows.score]


def whole(values: Sequence[float]) -> list[int]:
    """Rounded."""
    return [int(value + 0.5) for value in values]


def same_intent(rows: Rows) -> list[tuple[str, str, str]]:
    """(a text, one of the same category, one of another category)."""
    found = []
    for at, text in enumerate(rows.a):
        order = [(at + step) % len(rows) for step in range(1, len(rows))]
        near = next(place for place in order if rows.label[place] == rows.label[at] and rows.a[place] != text)
        far = next(place for place in order[60:] if rows.label[place] != rows.label[at])
        found.append((text, rows.a[near], rows.a[far]))
    return found


# ------------------------------------------------------------------ pairs with a score


def hungarian(rows: Rows) -> Columns:
    n = len(rows)
    return {
        "Sorszám": ids(n),
        "Mintamondat": plain(rows.a),
        "Tanuló mondata": plain(rows.b),
        "Hasonlóság (1-5)": [comma(1 + score * 0.8) for score in rows.score],
        "Javította": some(n, 1, "Kovács É.", "Nagy P.", "Szűcs Á."),
        "Megjegyzés": some(n, 2, "", "", "", "", "újranézni", "rendben"),
    }


def finnish(rows: Rows) -> Columns:
    n = len(rows)
    return {
        "tunniste": ids(n, "fi-{:05d}"),
        "lause_a": rows.a,
        "lause_b": rows.b,
        "samankaltaisuus": whole([score * 20 for score in rows.score]),
        "pituus_a": [len(text) for text in rows.a],
        "pituus_b": [len(text) for text in rows.b],
    }


def japanese(rows: Rows) -> Columns:
    n = len(rows)
    return {
        "番号": ids(n, "{}", 1001),
        "作業者": some(n, 3, "佐藤", "鈴木", "高橋"),
        "文1": plain(rows.a),
        "文2": plain(rows.b),
        "類似度": whole(rows.score),
        "作業日": days(n, 4, "{2}/{1}/{0}"),
    }


def distance_header(rows: Rows) -> Columns:
    n = len(rows)
    return {
        "pair_id": ids(n, "P{:04d}"),
        "distance_0_same_10_unrelated": [f"{10 - 2 * score:.1f}" for score in rows.score],
        "sentence_left": rows.a,
        "sentence_right": rows.b,
        "seconds_spent": numbers(n, 5, 3, 60, 1),
    }


def french_shop(rows: Rows) -> Columns:
    n = len(rows)
    return {
        "Réf.": ids(n, "ART-{:04d}"),
        "Désignation fournisseur": rows.a,
        "Désignation boutique": rows.b,
        "Prix HT": [f"{comma(value, 2)} €" for value in numbers(n, 6, 3, 200)],
        "Taux de ressemblance": [f"{round(score * 20)} %" for score in rows.score],
    }


def marks(rows: Rows) -> Columns:
    n = len(rows)
    return {
        "Pupil": some(n, 7, "Amy R.", "Ben T.", "Chloe W.", "Dev P.", "Ella M."),
        "Q": some(n, 8, "Q1", "Q2", "Q3", "Q4"),
        "Model answer": rows.a,
        "Pupil's answer": rows.b,
        "Mark": [f"{value}/5" for value in whole(rows.score)],
        "Handed in": days(n, 9, "{0:02d}/{1:02d}/{2}"),
    }


def uninformative(rows: Rows) -> Columns:
    return {
        "F1": ids(len(rows), "{}", 50321),
        "F2": rows.a,
        "F3": rows.b,
        "F4": [f"{score / 5:.3f}" for score in rows.score],
    }


def bare_scored(rows: Rows) -> Columns:
    n = len(rows)
    return {
        "1": ids(n, "s{:04d}"),
        "2": some(n, 10, "news", "forum", "captions"),
        "3": rows.scores("{:.2f}".format),
        "4": rows.a,
        "5": rows.b,
    }


def raters(rows: Rows) -> Columns:
    dice = random.Random(11)
    votes = [[min(5, max(0, int(score + 0.5) + dice.choice((-1, 0, 0, 0, 1)))) for _ in range(3)] for score in rows.score]
    return {
        "item": list(range(len(rows))),
        "text_1": rows.a,
        "text_2": rows.b,
        "rater_1": [vote[0] for vote in votes],
        "rater_2": [vote[1] for vote in votes],
        "rater_3": [vote[2] for vote in votes],
        "mean_similarity": [round(score, 2) for score in rows.score],
    }


def seo(rows: Rows) -> Columns:
    n = len(rows)
    return {
        "URL A": ids(n, "https://shop.example/p/{}"),
        "Title A": rows.a,
        "URL B": ids(n, "https://rival.example/item-{}", 700),
        "Title B": rows.b,
        "Clicks": some(n, 12, *range(0, 900, 7)),
        "Cosine distance": [f"{1 - score / 5:.4f}" for score in rows.score],
    }


def chinese(rows: Rows) -> Columns:
    n = len(rows)
    return {
        "编号": ids(n),
        "句子一": rows.a,
        "句子二": rows.b,
        "标注员": some(n, 13, "王芳", "李伟", "张敏"),
        "相似度": [f"{score:.0f}" for score in rows.score],
    }


def turkish(rows: Rows) -> Columns:
    n = len(rows)
    return {
        "kayıt_no": [int(value) for value in ids(n)],
        "cümle1": rows.a,
        "cümle2": rows.b,
        "benzerlik_puanı": [round(1 + score * 1.2, 1) for score in rows.score],
        "bölüm": some(n, 14, "eğitim", "eğitim", "eğitim", "sınama"),
    }


def polish(rows: Rows) -> Columns:
    n = len(rows)
    return {
        "Lp.": ids(n),
        "Kandydat": some(n, 15, "K-101", "K-102", "K-107", "K-115"),
        "Opis w ogłoszeniu": rows.a,
        "Opis w CV": rows.b,
        "Zgodność (0-10)": [comma(score * 2) for score in rows.score],
        "Oczekiwane wynagrodzenie": some(n, 16, 5200, 6100, 7400, 8800, 9900),
        "Uwagi": some(n, 17, "", "", "zadzwonić", "sprawdzić ponownie"),
    }


def korean(rows: Rows) -> Columns:
    n = len(rows)
    return {
        "출처": some(n, 18, "뉴스", "게시판", "사진 설명"),
        "문장1": rows.a,
        "문장2": rows.b,
        "유사도 점수": rows.scores("{:.1f}".format),
        "검수일": days(n, 19, "{2}.{1:02d}.{0:02d}"),
    }


def lawyer(rows: Rows) -> Columns:
    n = len(rows)
    return {
        "§": some(n, 20, "§ 1", "§ 2 Abs. 1", "§ 4", "§ 7 Abs. 3"),
        "Klausel alt": rows.a,
        "Klausel neu": rows.b,
        "Abweichung (0 = gleich, 100 = völlig anders)": [f"{100 - score * 20:.0f}" for score in rows.score],
        "Bearbeiter": some(n, 21, "RA Vogt", "RAin Öztürk", "Ref. Maier"),
    }


# ------------------------------------------------------------------ pairs with a label


def spanish(rows: Rows) -> Columns:
    n = len(rows)
    return {
        "nº": ids(n),
        "texto_1": rows.a,
        "texto_2": rows.b,
        "¿equivalentes?": rows.named({"0": "no", "1": "sí"}),
        "anotadora": some(n, 22, "Lucía", "Marta", "Inés"),
    }


def czech(rows: Rows) -> Columns:
    rows = rows.clear()
    n = len(rows)
    return {
        "Číslo": ids(n, "{:03d}"),
        "Dotaz zákazníka": plain(rows.a),
        "Nalezený dotaz": plain(rows.b),
        "Stejný význam": two(rows, "ne", "ano"),
        "Řešil": some(n, 23, "Jiří", "Věra", "Šárka"),
    }


def emojis(rows: Rows) -> Columns:
    rows = rows.clear()
    n = len(rows)
    return {"msg_a": rows.a, "msg_b": rows.b, "same?": two(rows, "❌", "✅"), "who": some(n, 24, "mia", "tom", "zoe")}


def duplicates(rows: Rows) -> Columns:
    n = len(rows)
    return {
        "id": ids(n, "{}", 0),
        "qid1": ids(n, "{}", 3001),
        "qid2": ids(n, "{}", 9001),
        "body1": rows.a,
        "body2": rows.b,
        "is_duplicate": rows.named({"0": "False", "1": "True"}),
    }


def symbols(rows: Rows) -> Columns:
    rows = rows.clear()
    n = len(rows)
    return {"nr": ids(n), "A": rows.a, "rel": two(rows, "≠", "="), "B": rows.b}


def tickets(rows: Rows) -> Columns:
    rows = rows.clear()
    n = len(rows)
    return {
        "Ticket": ids(n, "INC{:07d}", 40012),
        "Summary": rows.a,
        "Linked ticket": ids(n, "INC{:07d}", 10055),
        "Linked summary": rows.b,
        "Priority": some(n, 25, "P2", "P3", "P4"),
        "Verdict": two(rows, "NOTDUP", "DUP"),
        "Closed": days(n, 26),
    }


def portuguese(rows: Rows) -> Columns:
    n = len(rows)
    return {
        "id_par": ids(n),
        "premissa": rows.a,
        "hipótese": rows.b,
        "relação": rows.named({"contradiction": "contradição", "neutral": "neutro", "entailment": "implicação"}),
        "partição": some(n, 27, "treino", "treino", "validação"),
    }


def numbered(rows: Rows) -> Columns:
    n = len(rows)
    return {
        "uid": ids(n, "snli-{}"),
        "premise": rows.a,
        "hypothesis": rows.b,
        "label": [{"entailment": 0, "neutral": 1, "contradiction": 2}[label] for label in rows.label],
        "genre": some(n, 28, "captions", "photos"),
    }


def russian(rows: Rows) -> Columns:
    n = len(rows)
    return {
        "№": ids(n),
        "Посылка": plain(rows.a),
        "Гипотеза": plain(rows.b),
        "Вывод": rows.named({"contradiction": "противоречие", "neutral": "нейтрально", "entailment": "следование"}),
        "Уверенность": numbers(n, 29, 0.5, 1),
        "Разметчик": some(n, 30, "Ольга", "Игорь", "Анна"),
    }


def german_words(rows: Rows) -> Columns:
    n = len(rows)
    return {
        "lfd. Nr.": ids(n),
        "Satz A": rows.a,
        "Satz B": rows.b,
        "Urteil": rows.cut("gar nicht ähnlich", "etwas ähnlich", "ziemlich ähnlich", "sehr ähnlich"),
        "Dauer (s)": numbers(n, 31, 2, 40, 1),
    }


def bare_labelled(rows: Rows) -> Columns:
    return {"1": rows.label, "2": ids(len(rows), "{}", 702876), "3": ids(len(rows), "{}", 2108705), "4": rows.a, "5": rows.b}


def arabic(rows: Rows) -> Columns:
    rows = rows.clear()
    n = len(rows)
    return {
        "الرقم": ids(n),
        "النص الأول": rows.a,
        "النص الثاني": rows.b,
        "هل لهما نفس المعنى؟": two(rows, "لا", "نعم"),
        "المراجع": some(n, 32, "سارة", "خالد"),
    }


def swedish(rows: Rows) -> Columns:
    n = len(rows)
    return {
        "löpnr": ids(n),
        "mening 1": plain(rows.a),
        "mening 2": plain(rows.b),
        "bedömning": rows.named({"0": "olika", "1": "samma"}),
        "säkerhet": numbers(n, 33, 0.4, 1),
        "bedömare": some(n, 34, "Åsa", "Göran", "Märta"),
    }


def greek(rows: Rows) -> Columns:
    rows = rows.clear()
    n = len(rows)
    return {
        "Α/Α": ids(n),
        "Πρόταση 1": plain(rows.a),
        "Πρόταση 2": plain(rows.b),
        "Ίδιο νόημα": two(rows, "όχι", "ναι"),
        "Ημερομηνία": days(n, 35, "{0}/{1}/{2}"),
    }


def chinese_words(rows: Rows) -> Columns:
    rows = rows.clear()
    n = len(rows)
    return {
        "id": [int(value) for value in ids(n)],
        "问题A": rows.a,
        "问题B": rows.b,
        "是否同义": two(rows, "不同义", "同义"),
        "来源": some(n, 36, "客服", "论坛"),
    }


# ------------------------------------------------------------------ texts with a category

PATHS = {
    "beneficiary_not_allowed": "Transfers/Recipient",
    "transfer_fee_charged": "Fees/Transfer",
    "card_arrival": "Cards/Delivery",
    "cash_withdrawal_charge": "Fees/Cash",
    "request_refund": "Refunds/New",
    "card_payment_fee_charged": "Fees/Card payment",
    "wrong_exchange_rate_for_cash_withdrawal": "Exchange/Cash",
    "failed_transfer": "Transfers/Failed",
    "Refund_not_showing_up": "Refunds/Missing",
    "order_physical_card": "Cards/Order",
    "declined_transfer": "Transfers/Declined",
    "getting_spare_card": "Cards/Spare",
    "unable_to_verify_identity": "Account/Identity",
    "pending_top_up": "Top-up/Pending",
    "atm_support": "Cards/ATM",
    "top_up_by_bank_transfer_charge": "Fees/Top-up",
    "exchange_charge": "Exchange/Fee",
    "top_up_limits": "Top-up/Limits",
    "virtual_card_not_working": "Cards/Virtual",
    "contactless_not_working": "Cards/Contactless",
}


def top(rows: Rows, names: dict[str, str] | None = None) -> list[str]:
    """The first part of each path, by another name."""
    found = [PATHS[label].split("/")[0] for label in rows.label]
    return [names[name] for name in found] if names else found


def desk(rows: Rows) -> Columns:
    n = len(rows)
    return {
        "ticket_id": ids(n, "#{}", 88120),
        "opened_at": days(n, 37, "{2}-{1:02d}-{0:02d}T09:14:00Z"),
        "customer_message": rows.a,
        "queue": [PATHS[label] for label in rows.label],
        "first_reply_minutes": some(n, 38, *range(1, 240)),
    }


def refunds(rows: Rows) -> Columns:
    n = len(rows)
    return {
        "Order": ids(n, "SO-{}", 5501),
        "Total": numbers(n, 39, 5, 300),
        "Customer wrote": rows.a,
        "Outcome": ["refund" if "refund" in label.lower() else "no refund" for label in rows.label],
    }


def dutch(rows: Rows) -> Columns:
    n = len(rows)
    return {"vraagnr": ids(n, "V{:03d}"), "vraag": rows.a, "klasse": rows.label, "aantal_woorden": [len(text.split()) for text in rows.a]}


def vietnamese(rows: Rows) -> Columns:
    n = len(rows)
    names = {"0": "mô tả", "1": "thực thể", "2": "viết tắt", "3": "con người", "4": "địa điểm", "5": "con số"}
    return {"stt": [int(value) for value in ids(n)], "câu_hỏi": rows.a, "loại": rows.named(names), "nguồn": some(n, 40, "sách", "mạng")}


def norwegian(rows: Rows) -> Columns:
    n = len(rows)
    names = {
        "Transfers": "Overføring",
        "Fees": "Gebyr",
        "Cards": "Kort",
        "Refunds": "Tilbakebetaling",
        "Exchange": "Valuta",
        "Account": "Konto",
        "Top-up": "Påfylling",
    }
    return {
        "Saksnr": ids(n, "2023/{}", 301),
        "Tema": top(rows, names),
        "Henvendelse": rows.a,
        "Mottatt": days(n, 41, "{0:02d}.{1:02d}.{2}"),
    }


def bare_category(rows: Rows) -> Columns:
    n = len(rows)
    return {"1": ids(n, "{}", 20001), "2": days(n, 42), "3": rows.a, "4": rows.label}


def ukrainian(rows: Rows) -> Columns:
    n = len(rows)
    names = {
        "Transfers": "перекази",
        "Fees": "комісії",
        "Cards": "картки",
        "Refunds": "повернення коштів",
        "Exchange": "обмін валют",
        "Account": "рахунок",
        "Top-up": "поповнення",
    }
    return {
        "№ п/п": ids(n),
        "Текст звернення": plain(rows.a),
        "Рубрика": top(rows, names),
        "Дата": days(n, 43, "{0:02d}.{1:02d}.{2}"),
    }


def intents(rows: Rows) -> Columns:
    n = len(rows)
    return {
        "utterance": rows.a,
        "intent": rows.label,
        "lang": ["en"] * n,
        "asr_confidence": numbers(n, 44, 0.6, 1, 3),
        "n_chars": [len(text) for text in rows.a],
    }


# ------------------------------------------------------------------ pairs that belong together

ANSWERS = {
    "beneficiary_not_allowed": "Some recipients cannot be added because their bank or country is not supported; please "
    "check our list of countries.",
    "transfer_fee_charged": "A fee is charged for transfers outside the euro area. You see it before you confirm the transfer.",
    "card_arrival": "Cards usually arrive within ten working days. If yours has not come by then, write to us and we will send a new one.",
    "cash_withdrawal_charge": "Taking out cash is free up to your monthly allowance; after that we charge two percent of each withdrawal.",
    "request_refund": "Please ask the shop first. If the seller does not refund you, open the payment in the app and choose 'Dispute'.",
    "card_payment_fee_charged": "We never charge for paying by card, but some merchants add a surcharge of their own to the payment.",
    "wrong_exchange_rate_for_cash_withdrawal": "The rate for cash from a machine is the one of the moment it was taken out. Decline the "
    "conversion that the ATM offers.",
    "failed_transfer": "A transfer fails if the account number is wrong or the limit is reached. Check the details and try again.",
    "Refund_not_showing_up": "A refund can take up to ten working days until the seller's bank has sent it to your statement.",
    "order_physical_card": "You order a physical card in the app under 'Cards'; delivery costs five euros.",
    "declined_transfer": "A transfer is declined when there is not enough money or the recipient's bank refuses it.",
    "getting_spare_card": "You can have up to three cards on one account. Order an additional card in the app.",
    "unable_to_verify_identity": "Take the picture of your passport in daylight and make sure that your name and birth date are readable.",
    "pending_top_up": "A top-up may be pending for up to an hour while your bank confirms it. It then shows in your balance.",
    "atm_support": "You can use your card at every cash machine that shows the Mastercard or Visa sign.",
    "top_up_by_bank_transfer_charge": "Topping up by bank transfer is free for local transfers; international ones may cost a "
    "fee at your bank.",
    "exchange_charge": "Exchanging currencies is free on weekdays; at weekends we add half a percent.",
    "top_up_limits": "You can top up at most ten thousand a month; verified customers can ask for a higher limit.",
    "virtual_card_not_working": "Check in the app that your virtual card is not frozen or expired; disposable ones work only once.",
    "contactless_not_working": "Use your PIN once in a terminal; after that contactless payments are switched on.",
}


def faq(rows: Rows) -> Columns:
    n = len(rows)
    return {
        "faq_id": ids(n, "FAQ-{:03d}"),
        "question": rows.a,
        "answer": [ANSWERS[label] for label in rows.label],
        "helpful_votes": some(n, 45, *range(60)),
        "updated": days(n, 46),
    }


def reworded(rows: Rows) -> Columns:
    rows = alike(rows)
    n = len(rows)
    return {
        "nr": [int(value) for value in ids(n)],
        "original": rows.a,
        "omskrivning": rows.b,
        "redaktør": some(n, 47, "Søren", "Mette", "Bodil"),
    }


def romanian(rows: Rows) -> Columns:
    rows = alike(rows)
    n = len(rows)
    return {
        "cod produs": ids(n, "RO{:05d}"),
        "titlu": rows.b,
        "descriere": rows.a,
        "preț": [f"{comma(value, 2)} lei" for value in numbers(n, 48, 20, 900)],
        "stoc": some(n, 49, *range(0, 40)),
    }


def post_edited(rows: Rows) -> Columns:
    rows = alike(rows)
    n = len(rows)
    return {
        "Segment": ids(n),
        "MT output": rows.a,
        "Post-edited": rows.b,
        "Translator": some(n, 50, "jkl", "mop", "ava"),
        "Words": [len(text.split()) for text in rows.a],
    }


def anchors(rows: Rows) -> Columns:
    found = same_intent(rows)
    return {"anchor": [row[0] for row in found], "positive": [row[1] for row in found]}


def bare_positive(rows: Rows) -> Columns:
    rows = alike(rows)
    return {"1": rows.a, "2": rows.b}


# ------------------------------------------------------------------ triplets


def indonesian(rows: Rows) -> Columns:
    found = same_intent(rows)
    return {
        "no": ids(len(found)),
        "kalimat_acuan": [row[0] for row in found],
        "kalimat_mirip": [row[1] for row in found],
        "kalimat_berbeda": [row[2] for row in found],
        "penulis": some(len(found), 51, "Budi", "Sari", "Wayan"),
    }


def search_log(rows: Rows) -> Columns:
    rows = alike(rows)
    n = len(rows)
    return {"qid": ids(n, "q{}"), "query": rows.a, "pos": rows.b, "neg": turned(rows.b), "lang": ["en"] * n}


def french_triplets(rows: Rows) -> Columns:
    rows = alike(rows)
    n = len(rows)
    return {
        "Requête": rows.a,
        "Bon résultat": rows.b,
        "Mauvais résultat": turned(rows.b, 29),
        "Rang du bon": some(n, 52, 1, 2, 3, 4, 5),
        "Vérifié le": days(n, 53, "{0:02d}/{1:02d}/{2}"),
    }


def bare_triplets(rows: Rows) -> Columns:
    rows = alike(rows)
    return {"1": ids(len(rows), "t{:03d}"), "2": rows.a, "3": rows.b, "4": turned(rows.b, 41)}


# ------------------------------------------------------------------ sentences


def headlines(rows: Rows) -> Columns:
    n = len(rows)
    return {
        "row": ids(n),
        "headline": rows.a,
        "published": days(n, 54, "{2}-{1:02d}-{0:02d} 08:30"),
        "url": ids(n, "https://news.example/a/{}", 90210),
        "n_chars": [len(text) for text in rows.a],
    }


def corpus(rows: Rows) -> Columns:
    n = len(rows)
    return {
        "seite": [1 + at // 12 for at in range(n)],
        "zeile": [1 + at % 12 for at in range(n)],
        "satz": rows.a,
        "wörter": [len(text.split()) for text in rows.a],
    }


SCORED, LABELLED, TEXTS, POSITIVE, TRIPLETS = "scored_pairs", "labelled_pairs", "labelled_texts", "positive_pairs", "triplets"

LAYOUTS = [
    Layout(
        "fifth hungarian teacher, decimal commas in cp1250",
        "stsb",
        hungarian,
        SCORED,
        ("Mintamondat", "Tanuló mondata"),
        "Hasonlóság (1-5)",
        scale=(1.0, 5.0),
        write="csv cp1250",
    ),
    Layout(
        "fifth finnish jsonl, 0-100 and lengths",
        "stsb",
        finnish,
        SCORED,
        ("lause_a", "lause_b"),
        "samankaltaisuus",
        scale=(0.0, 100.0),
        write="jsonl",
    ),
    Layout(
        "fifth japanese in shift_jis, whole numbers",
        "stsb",
        japanese,
        SCORED,
        ("文1", "文2"),
        "類似度",
        scale=(0.0, 5.0),
        write="csv shift_jis",
    ),
    Layout(
        "fifth distance told in the header",
        "stsb",
        distance_header,
        SCORED,
        ("sentence_left", "sentence_right"),
        "distance_0_same_10_unrelated",
        scale=(10.0, 0.0),
        write="tsv",
    ),
    Layout(
        "fifth french shop, percent and prices",
        "stsb",
        french_shop,
        SCORED,
        ("Désignation fournisseur", "Désignation boutique"),
        "Taux de ressemblance",
        write="semicolon",
    ),
    Layout("fifth english teacher, marks as fractions", "stsb", marks, SCORED, ("Model answer", "Pupil's answer"), "Mark"),
    Layout("fifth F1 to F4", "stsb", uninformative, SCORED, ("F2", "F3"), "F4", scale=(0.0, 1.0), write="tsv"),
    Layout(
        "fifth scored without header, score before texts",
        "stsb",
        bare_scored,
        SCORED,
        ("column_4", "column_5"),
        "column_3",
        scale=(0.0, 5.0),
        write="tsv",
        header=False,
    ),
    Layout(
        "fifth three raters and their mean",
        "stsb",
        raters,
        SCORED,
        ("text_1", "text_2"),
        "mean_similarity",
        scale=(0.0, 5.0),
        write="parquet",
    ),
    Layout("fifth seo titles, cosine distance", "stsb", seo, SCORED, ("Title A", "Title B"), "Cosine distance", scale=(1.0, 0.0)),
    Layout("fifth chinese in gb18030", "stsb-zh", chinese, SCORED, ("句子一", "句子二"), "相似度", scale=(0.0, 5.0), write="csv gb18030"),
    Layout("fifth turkish json, 1-7", "stsb", turkish, SCORED, ("cümle1", "cümle2"), "benzerlik_puanı", scale=(1.0, 7.0), write="json"),
    Layout(
        "fifth polish hr, 0-10 and wages",
        "stsb",
        polish,
        SCORED,
        ("Opis w ogłoszeniu", "Opis w CV"),
        "Zgodność (0-10)",
        scale=(0.0, 10.0),
        write="semicolon",
    ),
    Layout(
        "fifth korean with lines above",
        "stsb",
        korean,
        SCORED,
        ("문장1", "문장2"),
        "유사도 점수",
        scale=(0.0, 5.0),
        write="csv utf-8-sig",
        above=("문장 유사도 평가 결과", "작성: 언어팀", ""),
    ),
    Layout(
        "fifth german lawyer, deviation",
        "stsb",
        lawyer,
        SCORED,
        ("Klausel alt", "Klausel neu"),
        "Abweichung (0 = gleich, 100 = völlig anders)",
        scale=(100.0, 0.0),
        write="pipe",
    ),
    Layout("fifth spanish yes and no", "mrpc", spanish, LABELLED, ("texto_1", "texto_2"), "¿equivalentes?", ("no", "sí")),
    Layout(
        "fifth czech support in cp1250",
        "stsb",
        czech,
        LABELLED,
        ("Dotaz zákazníka", "Nalezený dotaz"),
        "Stejný význam",
        ("ne", "ano"),
        write="csv cp1250",
    ),
    Layout("fifth emojis", "stsb", emojis, LABELLED, ("msg_a", "msg_b"), "same?", ("❌", "✅"), write="jsonl"),
    Layout("fifth is_duplicate True and False", "mrpc", duplicates, LABELLED, ("body1", "body2"), "is_duplicate", ("False", "True")),
    Layout("fifth equal and unequal signs between the texts", "stsb", symbols, LABELLED, ("A", "B"), "rel", ("≠", "="), write="tsv"),
    Layout(
        "fifth tickets DUP and NOTDUP",
        "stsb",
        tickets,
        LABELLED,
        ("Summary", "Linked summary"),
        "Verdict",
        ("NOTDUP", "DUP"),
        write="semicolon",
    ),
    Layout(
        "fifth portuguese nli", "snli", portuguese, LABELLED, ("premissa", "hipótese"), "relação", ("contradição", "neutro", "implicação")
    ),
    Layout("fifth numbered nli", "snli", numbered, LABELLED, ("premise", "hypothesis"), "label", ("2", "1", "0"), write="parquet"),
    Layout(
        "fifth russian nli in cp1251",
        "sick",
        russian,
        LABELLED,
        ("Посылка", "Гипотеза"),
        "Вывод",
        ("противоречие", "нейтрально", "следование"),
        write="csv cp1251",
    ),
    Layout(
        "fifth german words for grades",
        "stsb",
        german_words,
        LABELLED,
        ("Satz A", "Satz B"),
        "Urteil",
        ("gar nicht ähnlich", "etwas ähnlich", "ziemlich ähnlich", "sehr ähnlich"),
        ordered=True,
        write="semicolon",
    ),
    Layout(
        "fifth labelled without header, label first",
        "mrpc",
        bare_labelled,
        LABELLED,
        ("column_4", "column_5"),
        "column_1",
        ("0", "1"),
        write="tsv",
        header=False,
    ),
    Layout(
        "fifth arabic yes and no",
        "stsb",
        arabic,
        LABELLED,
        ("النص الأول", "النص الثاني"),
        "هل لهما نفس المعنى؟",
        ("لا", "نعم"),
        write="csv utf-8-sig",
    ),
    Layout(
        "fifth swedish same and different in latin-1",
        "mrpc",
        swedish,
        LABELLED,
        ("mening 1", "mening 2"),
        "bedömning",
        ("olika", "samma"),
        write="csv iso-8859-1",
    ),
    Layout(
        "fifth greek in iso-8859-7",
        "stsb",
        greek,
        LABELLED,
        ("Πρόταση 1", "Πρόταση 2"),
        "Ίδιο νόημα",
        ("όχι", "ναι"),
        write="csv iso-8859-7",
    ),
    Layout(
        "fifth chinese same meaning", "stsb-zh", chinese_words, LABELLED, ("问题A", "问题B"), "是否同义", ("不同义", "同义"), write="json"
    ),
    Layout("fifth support desk queues as paths", "banking77", desk, TEXTS, ("customer_message",), "queue", write="jsonl"),
    Layout("fifth refund and no refund", "banking77", refunds, TEXTS, ("Customer wrote",), "Outcome"),
    Layout("fifth dutch questions with numbered classes", "trec", dutch, TEXTS, ("vraag",), "klasse", write="semicolon"),
    Layout("fifth vietnamese kinds of questions", "trec", vietnamese, TEXTS, ("câu_hỏi",), "loại", write="json"),
    Layout("fifth norwegian topics before the text", "banking77", norwegian, TEXTS, ("Henvendelse",), "Tema", write="csv cp1252"),
    Layout("fifth category without header", "banking77", bare_category, TEXTS, ("column_3",), "column_4", write="pipe", header=False),
    Layout(
        "fifth ukrainian topics with lines above",
        "banking77",
        ukrainian,
        TEXTS,
        ("Текст звернення",),
        "Рубрика",
        write="csv cp1251",
        above=("Звернення громадян за 2023 рік", "Вивантажено 12.01.2024", ""),
    ),
    Layout("fifth intents with confidence in parquet", "banking77", intents, TEXTS, ("utterance",), "intent", write="parquet"),
    Layout("fifth faq with votes", "banking77", faq, POSITIVE, ("question", "answer")),
    Layout("fifth danish rewordings", "mrpc", reworded, POSITIVE, ("original", "omskrivning"), write="jsonl"),
    Layout("fifth romanian shop, title and description", "snli", romanian, POSITIVE, ("titlu", "descriere"), write="semicolon"),
    Layout("fifth post-editing", "mrpc", post_edited, POSITIVE, ("MT output", "Post-edited"), write="tsv"),
    Layout("fifth anchor and positive", "banking77", anchors, POSITIVE, ("anchor", "positive"), write="parquet"),
    Layout("fifth two columns without header", "mrpc", bare_positive, POSITIVE, ("column_1", "column_2"), write="tsv", header=False),
    Layout("fifth indonesian triplets", "banking77", indonesian, TRIPLETS, ("kalimat_acuan", "kalimat_mirip", "kalimat_berbeda")),
    Layout("fifth query, pos and neg", "stsb", search_log, TRIPLETS, ("query", "pos", "neg"), write="jsonl"),
    Layout(
        "fifth french good and bad result",
        "mrpc",
        french_triplets,
        TRIPLETS,
        ("Requête", "Bon résultat", "Mauvais résultat"),
        write="semicolon",
    ),
    Layout(
        "fifth triplets without header", "snli", bare_triplets, TRIPLETS, ("column_2", "column_3", "column_4"), write="tsv", header=False
    ),
    Layout("fifth headlines with dates and links", "stsb", headlines, "sentences", ("headline",)),
    Layout("fifth german corpus with pages", "sick", corpus, "sentences", ("satz",), write="csv utf-16"),
]
