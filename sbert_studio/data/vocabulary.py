"""The names that people give to columns, and the words that they use for labels, in English and Chinese."""

from __future__ import annotations

import re
import unicodedata


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FIRST = _words(
    "sentence1 sentencea senta sent1 s1 text1 texta a premise question1 q1 query anchor question source src left first input1 string1 "
    "firstsentence context utterance1 duplicatea 句子1 文本1 前提 问题1 问题 句子a 查询 原句"
)
SECOND = _words(
    "sentence2 sentenceb sentb sent2 s2 text2 textb b hypothesis question2 q2 positive pos answer response target2 right second input2 "
    "string2 secondsentence passage document paraphrase duplicateb 句子2 文本2 假设 问题2 答案 回答 正例 句子b 译句"
)
ANCHOR = _words("anchor query question premise sentence1 s1 text1 a sent0 锚点 查询 问题 原句")
POSITIVE = _words("positive pos positives sent1 answer similar relevant entailment 正例 正样本 正确答案")
NEGATIVE = re.compile(r"((hard)?neg(ative)?s?|dissimilar|irrelevant|distractor|contradiction|hardneg|负例|负样本|反例)\d*")
TEXT = _words(
    "text sentence sentences texts content body message utterance question query title document passage description comment review "
    "tweet sample example request ticket 文本 句子 内容 问题 标题 正文 评论 留言"
)
SCORE = _words(
    "score scores similarity similarityscore sim relatedness relatednessscore goldscore gold rating sts grade value mean average "
    "分数 得分 相似度 评分 相关度"
)
LABEL = _words(
    "label labels class category intent goldlabel gold target y isduplicate duplicate isparaphrase paraphrase quality entailment "
    "entailmentlabel entailmentjudgment judgment relation tag annotation type 标签 类别 标注 关系 分类"
)
GROUP = _words("topic group category domain genre subset source theme cluster dataset 主题 话题 领域 组 类别 分组")
IDENTIFIER = _words("id idx index pairid uid guid rowid no nr number key captionid sentenceid 编号 序号")

_NLI_ORDER = ("contradiction", "neutral", "entailment")
_NLI = {
    **dict.fromkeys(_words("contradiction contradictory contradicts contradict c 矛盾 冲突 对立"), "contradiction"),
    **dict.fromkeys(_words("neutral n unrelated 中立 中性 无关"), "neutral"),
    **dict.fromkeys(_words("entailment entailed entails entail e 蕴含 蕴涵 包含"), "entailment"),
}
_NO = _words(
    "0 false no n f different dissimilar unrelated notduplicate nonduplicate notparaphrase nonparaphrase notentailment notentailed "
    "notsimilar irrelevant negative 否 不 不同 不相似 假 错"
)
_YES = _words("1 true yes y t same similar related duplicate paraphrase entailment entailed relevant positive 是 相同 相似 真 对")
# What annotators write where they did not agree (SNLI: "-", as a number -1).
NO_LABEL = frozenset({"-", "-1", "n/a", "na", "none", "null", "nan"})


def squeeze(name: str) -> str:
    """A column name or label without case, blanks and punctuation: ``Sentence_1`` and ``sentence 1`` are one."""
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", name)).casefold()


KNOWN = FIRST | SECOND | ANCHOR | POSITIVE | TEXT | SCORE | LABEL | GROUP | IDENTIFIER


def known(name: str) -> bool:
    """Whether ``name`` is what people call a column."""
    squeezed = squeeze(name)
    return squeezed in KNOWN or bool(NEGATIVE.fullmatch(squeezed))


def nli_class(label: str) -> str | None:
    """``contradiction``, ``neutral`` or ``entailment`` for a label in English or Chinese; else None."""
    return _NLI.get(squeeze(label))


def is_yes(label: str) -> bool:
    """Whether a label says that two texts belong together: 1, yes, true, duplicate, entailment and the like."""
    return squeeze(label) in _YES or nli_class(label) == "entailment"


def label_order(labels: set[str]) -> tuple[str, ...] | None:
    """The order of well-known label sets, least similar first; None for any other set.

    NLI: contradiction, neutral, entailment. Two answers: no, yes.
    """
    classes = {label: nli_class(label) for label in labels}
    if len(labels) > 1 and all(classes.values()) and len(set(classes.values())) == len(labels):
        return tuple(sorted(labels, key=lambda label: _NLI_ORDER.index(str(classes[label]))))
    if len(labels) == 2:
        no = [label for label in labels if squeeze(label) in _NO or label.strip() == "-1"]
        yes = [label for label in labels if squeeze(label) in _YES and label not in no]
        if len(no) == len(yes) == 1:
            return (no[0], yes[0])
    return None
