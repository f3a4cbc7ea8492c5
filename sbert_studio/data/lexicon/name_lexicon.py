"""The words of the names that people give to columns, in the languages that tables come in."""

from __future__ import annotations

import re


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
CERTAIN = _words(
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
TARGET_PARTS = _words(
    """
    score scores similarity similarities sim similar alike close relatedness related gold rating ratings sts grade label labels class
    target duplicate dup
    paraphrase entailment judgment judgement judgments relation match equivalent equivalence same human mean avg average median quality
    rank ranking rang rango ранг
    relevance relevant agreement closeness semantic points verdict answer decision annotation mos likert stars punkte punktzahl
    ähnlichkeit aehnlichkeit ähnlich bewertung note wert urteil gleich dublette etikett klasse grad nähe similitude similarité
    ressemblance étiquette doublon jugement évaluation proximité puntuación puntuacion puntaje similitud parecido calificación etiqueta
    duplicado relación valoración punteggio somiglianza voto similarità etichetta giudizio pontuação similaridade nota оценка балл баллы
    сходство сходства близость похожесть метка дубль совпадение podobieństwo ocena wynik etykieta gelijkenis oordeel benzerlik puan
    etiket likhet poäng lighed podobnost skóre hodnocení hasonlóság pontszám skor kemiripan điểm تشابه درجة تصنيف समानता अंक
"""
)
TARGET_SIGNS = _listed("""
    分数 得分 相似 评分 相关 打分 标签 标注 是否 一致 関連 类似 類似 スコア ラベル 評価 点数 判定 同義 유사 점수 라벨 레이블 판정 평점
    일치
""")
REVERSED = _words(
    """
    distance distances dist dissimilarity dissimilar difference different divergence unlike mismatch abstand distanz unterschied
    verschieden unähnlichkeit différence différent écart distancia diferencia diferente distanza differenza diverso расстояние различие
    отличие отличия разница odległość różnica różnice niepodobieństwo afstand verschil verschillend uzaklık fark farklılık diferença
    distância dissimilaridade differenze dissomiglianza desemejanza disimilitud dissemblance dissimilitude éloignement écarts
    avstånd skillnad olikhet afstand forskel ulighed avstand forskjell ulikhet ero etäisyys erilaisuus vzdálenost rozdíl odlišnost
    vzdialenosť rozdiel távolság különbség eltérés distanță diferență razlika udaljenost oddaljenost atstumas skirtumas attālums
    atšķirība erinevus kaugus απόσταση διαφορά jarak perbedaan khoảng_cách khác_biệt مسافة اختلاف فرق दूरी अंतर
    differ differs contradicts contradict conflicts unterscheidet widerspricht diffère contredit difieren difiere differiscono отличаются
    changed change altered unlikeness unähnlich abweichung
"""
)
# Of these more means more alike; a mark, a note, a rank and a degree may begin at the best.
LIKENESS = _words(
    """
    score scores similarity similarities sim similar alike close relatedness related likeness duplicate dup paraphrase entailment match
    equivalent equivalence same agreement closeness points stars overlap
    punkte punktzahl ähnlichkeit aehnlichkeit ähnlich gleich dublette nähe übereinstimmung similitude similarité ressemblance
    similaire semblable proximité points puntuación puntuacion puntaje similitud parecido semejanza puntos punteggio somiglianza
    similarità punti pontuação similaridade semelhança pontos балл баллы сходство сходства близость похожесть совпадение очки
    podobieństwo punkty gelijkenis overeenkomst punten benzerlik yakınlık puan likhet poäng lighed likhet podobnost podobnosť body skóre
    hasonlóság pontszám skor kemiripan samankaltaisuus pisteet asemănare punctaj sličnost podobnost panašumas līdzība sarnasus ομοιότητα
    điểm tương_đồng تشابه درجة समानता अंक
"""
)
EITHER_WAY = _words(
    """
    rank ranking rang rango ранг place position note nota mark marks grade grades grad level stufe niveau nivel livello poziom stopień
    derece seviye tase taso nivå уровень ступень оценка schulnote zensur 等级 等級 级别 名次 順位 등급 순위
"""
)
# Of these, the first is the best, whatever else the name says: a rank of similarity begins at the most alike.
RANKS = _words("rank ranks ranking ranked rang rango rangliste ранг места место 名次 排名 順位 ランク 등급 순위 sıra")
LIKENESS_SIGNS = ("相似", "相近", "得分", "分数", "打分", "近さ", "類似", "スコア", "点数", "一致", "유사", "점수", "일치")
REVERSED_SIGNS = ("距离", "距離", "差异", "差異", "不同", "違い", "거리", "차이")
NEVER_PARTS = _words(
    """
    id ids idx index uid uuid guid pid qid key no nr num number row line std sd stdev stddev deviation variance var stderr sem se
    confidence conf kappa annotator annotators annotateur annotador annotatore annotierer annotationist worker workers rater raters
    judge judges user users author authors autor auteur autore editor assignee name names email date datum fecha data日期 time timestamp
    year month day hour created updated modified jahr monat tag_ année annee an ano año anno mes дата год время месяц len length lengths
    chars characters words tokens wordcount count counts cnt anzahl länge longueur nombre longitud lunghezza длина количество freq
    frequency split fold set subset partition lang language sprache langue idioma lingua язык url link href file filename path source
    src quelle origin origine fuente fonte источник rank position page price hash version seed batch votes upvotes downvotes views likes
    clicks reviewer bearbeiter benutzer usuario utilisateur пользователь автор annotatore stddeviation spread range min max lower upper
    lengte lengteverschil längd længde lengde pituus délka dĺžka hossz lungime duljina dolžina uzunluk długość comprimento panjang
    độ_dài bewerter gutachter prüfer beurteiler annotatorin annotateurs évaluateur évaluatrice correcteur relecteur anotador anotadora
    evaluador evaluadora revisor revisora valutatore revisore avaliador avaliadora разметчик эксперт оценщик аннотатор beoordelaar
    oceniający recenzent değerlendirici bedömare bedømmer vurderer arvioija hodnotitel értékelő evaluator evaluatori ocjenjivač
    seconden sekunden secondes segundos secondi секунды sekund saniye sekunder sekuntia perc minuten minutes minutos
    bearbeitet handled operator исполнитель
    weight duration seconds minutes ip phone zip plz country land pays país város city status
"""
)
NEVER_SIGNS = _listed("""
    编号 序号 日期 时间 年份 长度 标准差 方差 作者 用户 标注者 标注员 标注人 来源 语言 日付 時刻 年 長さ 標準偏差 作成者 出典 言語 날짜
    년도 길이 작성자 출처 언어 작업자
""")
NUMBERED = _words("id ids idx index key no nr num number code uid 编号 序号 番号 번호 номер nummer numéro número")
SPREAD = _words("std sd stdev stddev deviation variance var stderr sem confidence conf kappa")
MACHINE = _words(
    """
    model predicted prediction pred bert bm25 tfidf cosine jaccard bleu rouge overlap baseline auto automatic system levenshtein edit
    cos
"""
)
ASIDE = _words(
    """
    comment comments note notes remark remarks explanation explanations rationale reason reasoning feedback justification metadata meta
    kommentar kommentare bemerkung bemerkungen anmerkung notiz begründung erklärung commentaire commentaires remarque explication
    comentario comentarios observación nota notas explicación commento osservazione spiegazione комментарий примечание пояснение source
    url author origin context hint 备注 评论 说明 解释 注释 理由 備考 コメント 説明 メモ 비고 설명 메모 의견 uwagi komentarz opmerking
    kommentti açıklama yorum
    anmärkning quelle reference title
"""
)  # fmt: skip
EITHER = _words("label labels class classes klasse classe clase класс метка ラベル 라벨 标签 etikett étiquette etiqueta etichetta")
SPLITS = _words("train training dev test valid validation val eval trial holdout heldout")
