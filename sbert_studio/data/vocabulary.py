"""The names that people give to columns, in the languages that tables come in."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

from .label_words import is_yes, nli_class, order_by_words, squeeze

__all__ = ["is_yes", "known", "nli_class", "order_by_words", "squeeze"]

Standing = Literal["certain", "likely", "unknown", "mixed", "never"]


def _listed(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FIRST = _words(
    """
    sentence1 sentencea senta sent1 s1 text1 texta a premise question1 q1 query anchor question source src left first input1 string1
    firstsentence context utterance1 duplicatea frage pregunta domanda pergunta вопрос предпосылка prämisse premisse prémisse premisa
    premessa anfrage requête consulta запрос title titel titre título titolo instruction input prompt original satz1 phrase1 句子1 文本1
    前提
    问题1 问题 問題 句子a 查询 原句 質問 質問文 質問1 질문 文1 前提文 전제 标题 pytanie vraag soru
"""
)
SECOND = _words(
    """
    sentence2 sentenceb sentb sent2 s2 text2 textb b hypothesis question2 q2 positive pos answer response target2 right second input2
    string2 secondsentence passage document paraphrase duplicateb antwort respuesta risposta resposta ответ hypothese hypothèse
    hipótesis ipotesi гипотеза réponse body output completion reply translation paraphrased satz2 phrase2 句子2 文本2 假设 假設 问题2
    答案 回答 正例 句子b
    译句 質問2 답변 대답 文2 仮説 仮説文 가설 正文 odpowiedź antwoord cevap
"""
)
ANCHOR = _words("anchor query question premise sentence1 s1 text1 a sent0 锚点 查询 问题 原句 anker frage requête consulta 質問")
POSITIVE = _words(
    """
    positive pos positives sent1 answer similar relevant entailment positiv positif positivo 正例 正样本 正确答案 antwort chosen right
"""
)
NEGATIVE = re.compile(
    r"((hard)?neg(ative)?s?|dissimilar|irrelevant|distractor|contradiction|hardneg|negativ|négatif|negativo|rejected|wronganswer|"
    r"负例|负样本|反例|負例|難負例)\d*"
)
TEXT = _words(
    """
    text sentence sentences texts content body message utterance question query title document passage description comment review tweet
    sample example request ticket satz sätze anfrage nachricht texte phrase phrases message texto frase mensaje testo frasi текст
    предложение сообщение запрос 文本 句子 内容 问题 标题 正文 评论 留言 文章 本文 文 テキスト 質問 텍스트 문장 내용 질문 tekst metin
    zin headline post
"""
)
SCORE = _words(
    """
    score scores similarity similarityscore sim relatedness relatednessscore goldscore gold rating sts grade value mean average 分数 得分
    相似度 评分 相关度 類似度 スコア 유사도 점수 ähnlichkeit similarité similitud somiglianza сходство similaridade
"""
)
LABEL = _words(
    """
    label labels class category intent goldlabel gold target y isduplicate duplicate isparaphrase paraphrase quality entailment
    entailmentlabel entailmentjudgment judgment relation tag annotation type etikett étiquette etiqueta etichetta метка 标签 类别 标注
    关系 分类
    ラベル 라벨 레이블 classe clase klasse класс
"""
)
_CERTAIN = _words(
    """
    score scores similarity similarityscore sim relatedness relatednessscore goldscore label labels goldlabel isduplicate duplicate
    isparaphrase paraphrase entailment entailmentlabel entailmentjudgment 分数 得分 相似度 标签 类似度 類似度 ラベル 유사도 라벨
"""
)
GROUP = _words(
    """
    topic group category domain genre subset source theme cluster dataset thema gruppe domäne thème sujet groupe tema grupo dominio
    gruppo тема группа 主题 话题 领域 组 类别 分组 分野 주제
"""
)
CATEGORY = _words(
    """
    category categories intent intents label labels topic topics class classes theme genre cluster tag type subject department team
    queue kategorie kategorien thema rubrik absicht abteilung klasse catégorie rubrique thème sujet classe intention categoría tema
    clase intención categoria argomento intento rubrica categorias assunto категория тема рубрика класс интент метка kategoria temat
    kategori tema ämne categorie onderwerp konu sınıf 类别 分类 主题 话题 标签 意图 类型 カテゴリ カテゴリー 分類 ジャンル 意図 ラベル
    トピック 카테고리 분류 주제 의도 라벨 coarselabel
    finelabel labeltext labelname
"""
)
IDENTIFIER = _words(
    """
    id idx index pairid uid guid rowid no nr number key captionid sentenceid uuid qid qid1 qid2 docid 编号 序号 番号 번호 nummer numéro
    número №
"""
)
# What stands in the name of a column that is a target, as a part of it; those of five letters and more also within a word.
_TARGET_PARTS = _words(
    """
    score scores similarity similarities sim similar alike close relatedness related gold rating ratings sts grade label labels class
    target duplicate dup
    paraphrase entailment judgment judgement judgments relation match equivalent equivalence same human mean avg average median quality
    relevance relevant agreement closeness semantic points verdict answer decision annotation mos likert stars punkte punktzahl
    ähnlichkeit aehnlichkeit ähnlich bewertung note wert urteil gleich dublette etikett klasse grad nähe similitude similarité
    ressemblance étiquette doublon jugement évaluation proximité puntuación puntuacion puntaje similitud parecido calificación etiqueta
    duplicado relación valoración punteggio somiglianza voto similarità etichetta giudizio pontuação similaridade nota оценка балл баллы
    сходство сходства близость похожесть метка дубль совпадение podobieństwo ocena wynik etykieta gelijkenis oordeel benzerlik puan
    etiket likhet poäng lighed podobnost skóre hodnocení hasonlóság pontszám skor kemiripan điểm تشابه درجة تصنيف समानता अंक
"""
)
_TARGET_SIGNS = _listed("""
    分数 得分 相似 评分 相关 打分 标签 标注 是否 一致 関連 类似 類似 スコア ラベル 評価 点数 判定 同義 유사 점수 라벨 레이블 판정 평점
    일치
""")
_REVERSED = _words(
    """
    distance distances dist dissimilarity dissimilar difference different divergence unlike mismatch abstand distanz unterschied
    verschieden unähnlichkeit différence différent écart distancia diferencia diferente distanza differenza diverso расстояние различие
    odległość afstand verschil uzaklık fark
"""
)
_REVERSED_SIGNS = ("距离", "距離", "差异", "差異", "不同", "違い", "거리", "차이")
_NEVER_PARTS = _words(
    """
    id ids idx index uid uuid guid pid qid key no nr num number row line std sd stdev stddev deviation variance var stderr sem se
    confidence conf kappa annotator annotators annotateur annotador annotatore annotierer annotationist worker workers rater raters
    judge judges user users author authors autor auteur autore editor assignee name names email date datum fecha data日期 time timestamp
    year month day hour created updated modified jahr monat tag_ année annee an ano año anno mes дата год время месяц len length lengths
    chars characters words tokens wordcount count counts cnt anzahl länge longueur nombre longitud lunghezza длина количество freq
    frequency split fold set subset partition lang language sprache langue idioma lingua язык url link href file filename path source
    src quelle origin origine fuente fonte источник rank position page price hash version seed batch votes upvotes downvotes views likes
    clicks reviewer bearbeiter benutzer usuario utilisateur пользователь автор annotatore stddeviation spread range min max lower upper
    weight duration seconds minutes ip phone zip plz country land pays país város city status
"""
)
_NEVER_SIGNS = _listed("""
    编号 序号 日期 时间 年份 长度 标准差 方差 作者 用户 标注者 标注员 标注人 来源 语言 日付 時刻 年 長さ 標準偏差 作成者 出典 言語 날짜
    년도 길이 작성자 출처 언어 작업자
""")
_SPREAD = _words("std sd stdev stddev deviation variance var stderr sem confidence conf kappa")
_MACHINE = _words(
    """
    model predicted prediction pred bert bm25 tfidf cosine jaccard bleu rouge overlap baseline auto automatic system levenshtein edit
    cos
"""
)
_ASIDE = _words(
    """
    comment comments note notes remark remarks explanation explanations rationale reason reasoning feedback justification metadata meta
    kommentar kommentare bemerkung bemerkungen anmerkung notiz begründung erklärung commentaire commentaires remarque explication
    comentario comentarios observación nota notas explicación commento osservazione spiegazione комментарий примечание пояснение source
    url author origin context hint 备注 评论 说明 解释 注释 理由 備考 コメント 説明 メモ 비고 설명 메모 의견 uwagi komentarz opmerking
    kommentti açıklama yorum
    anmärkning quelle reference title
"""
)  # fmt: skip
_EITHER = _words("label labels class classes klasse classe clase класс метка ラベル 라벨 标签 etikett étiquette etiqueta etichetta")
SPLITS = _words("train training dev test valid validation val eval trial holdout heldout")


def parts(name: str) -> tuple[str, ...]:
    """The words of a column's name: ``humanScore_2`` → human, score, 2."""
    text = unicodedata.normalize("NFKC", name)
    text = re.sub(r"(?<=[a-zà-ÿ0-9])(?=[A-ZÀ-Þ])", " ", text)
    text = re.sub(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])", " ", text)
    return tuple(word.casefold() for word in re.split(r"[\W_]+", text) if word)


def target_standing(name: str) -> Standing:
    """How much the name of a column speaks for scores or labels in it.

    ``certain``: it is what such a column is called. ``likely``: one of its words is. ``mixed``: one is, and another speaks against
    it, such as ``sim_std``. ``never``: its words say that it is something else (an id, a date, a length, a person, a split).
    """
    squeezed, words = squeeze(name), parts(name)
    if squeezed in _CERTAIN:
        return "certain"
    wanted = squeezed in SCORE | LABEL or _has(words, squeezed, _TARGET_PARTS | _REVERSED, (*_TARGET_SIGNS, *_REVERSED_SIGNS))
    against = bool(set(words) & _NEVER_PARTS) or squeezed in _NEVER_PARTS or any(sign in squeezed for sign in _NEVER_SIGNS)
    by_machine = bool(set(words) & _MACHINE)
    if against or by_machine:
        return "mixed" if wanted or by_machine else "never"
    if set(words) & GROUP and not wanted:
        return "never"
    return "likely" if wanted else "unknown"


def is_reversed(name: str) -> bool:
    """Whether a column is called a distance or a difference, so that its highest value means least alike."""
    return _has(parts(name), squeeze(name), _REVERSED, _REVERSED_SIGNS)


def is_spread(name: str) -> bool:
    """Whether a column is a deviation or a confidence, such as stands beside a score."""
    return bool(set(parts(name)) & _SPREAD)


def category_standing(name: str) -> Standing:
    """How much the name of a column speaks for categories of texts in it."""
    squeezed, words = squeeze(name), parts(name)
    against = bool(set(words) & _NEVER_PARTS) or any(sign in squeezed for sign in _NEVER_SIGNS)
    named = (
        squeezed in CATEGORY
        or bool(set(words) & CATEGORY)
        or any(len(sign) > 1 and not sign.isascii() and sign in squeezed for sign in CATEGORY)
    )
    if against:
        return "mixed" if named and squeezed not in CATEGORY else "never" if squeezed not in CATEGORY else "certain"
    return "certain" if named else "unknown"


def is_topic(name: str) -> bool:
    """Whether a column beside pairs is called what they are about, rather than a label of theirs."""
    return category_standing(name) == "certain" and not set(parts(name)) & _EITHER and squeeze(name) not in _EITHER


def is_aside(name: str) -> bool:
    """Whether a column of text stands beside the texts that are meant: a comment, a source, an explanation."""
    return bool(set(parts(name)) & _ASIDE) or squeeze(name) in _ASIDE or any(sign in squeeze(name) for sign in ("备注", "コメント", "비고"))


def is_negative(name: str) -> bool:
    """Whether a column of text is called a negative, as a whole or in one of its words: neg_passage, hardNegative2."""
    return bool(NEGATIVE.fullmatch(squeeze(name))) or any(NEGATIVE.fullmatch(part) for part in parts(name))


def is_positive(name: str) -> bool:
    """Whether a column of text is called a positive, as a whole or in one of its words."""
    return squeeze(name) in POSITIVE or bool(set(parts(name)) & POSITIVE)


def is_anchor(name: str) -> bool:
    """Whether a column of text is called what others are compared with, as a whole or in one of its words."""
    return squeeze(name) in ANCHOR or any(len(part) > 1 and part in ANCHOR for part in parts(name))


def known(name: str) -> bool:
    """Whether ``name`` is what people call a column."""
    squeezed = squeeze(name)
    return squeezed in KNOWN or bool(NEGATIVE.fullmatch(squeezed))


KNOWN = FIRST | SECOND | ANCHOR | POSITIVE | TEXT | SCORE | LABEL | GROUP | CATEGORY | IDENTIFIER


def _has(words: tuple[str, ...], squeezed: str, wanted: frozenset[str], signs: tuple[str, ...]) -> bool:
    if set(words) & wanted or any(sign in squeezed for sign in signs):
        return True
    return any(len(stem) >= 6 and stem in word for word in words for stem in wanted)
