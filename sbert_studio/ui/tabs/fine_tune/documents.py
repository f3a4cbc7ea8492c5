"""Training data from documents: the steps from documents to a better search as background jobs, and their stored results.

Each result is a file of the visitor with its description, so that it can be downloaded, and is still there after a reload. A step that was
stopped is repeated with the same button: vectors of encoded texts and the answers of a language model are cached.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....data.document_pairs import DEFAULT_SOURCES
from ....data.known_items import LEAST_DOCUMENTS, build_known_items, hold_out_documents
from ....data.schema.names import TITLE, normalize
from ....errors import StudioError
from ....evaluation.changes import describe_change
from ....evaluation.ranking import METRICS
from ....explore.hard_negatives import NegativeOptions
from ....i18n import _, join, ngettext, restore_messages, store_messages, to_sentence
from ....registry import setting
from ....runs.files import RunFiles
from ....services.pairs import HELD_OUT
from ....services.written_queries import INSTRUCTION, WritingOptions, list_counts
from ...basket import LabelledPair
from ...components import form_key
from ...corpora import FILE
from ...sessions import file_store
from ...sessions.tasks import session_id
from ...state import JobTopic
from ...views import Value, column, shorten, table

if TYPE_CHECKING:
    from ....data.corpus import Corpus
    from ....data.documents.document import Documents
    from ....data.retrieval import RetrievalSet
    from ....runs.run import Run
    from ....services.jobs import BeginPhase, JobView
    from ....services.results import RetrievalResult
    from ....services.results.training import MadePairs, MinedNegatives
    from ...page import Page
    from ...sessions.file_store import StoredFile
    from ...state import SelectedCorpus

PAIRS, NEGATIVES, ESTIMATE, COMPARISON = "pairs", "negatives", "estimate", "comparison"
"""Names of the steps that are jobs."""
_USES = {PAIRS: "document-pairs", NEGATIVES: "hard-negatives"}
"""Step → purpose of its file in the visitor's files."""
_LONGER = 3  # times as long as their titles are the texts of a table of documents
_MAX_RUNS = 20  # newest runs among which the one trained on the pairs is searched
_MAX_DOUBTFUL, _MAX_PER_QUERY = 50, 2  # texts that the visitor is asked about, in all and for each query
_LEAST_SHOWN = 0.0005  # difference that is shown as 0.001
SUBMITTING = threading.Lock()
"""Held while work is submitted, so that a second click finds the first."""
MAX_EXAMPLES = 4_000  # characters of the visitor's own queries, which are part of every prompt
_MAX_SHARED = 200  # passages for which a visitor of a shared page can have queries written
ORIGINS = {
    "title": _("Title"),
    "heading": _("Heading"),
    "question": _("Question"),
    "summary": _("First sentence"),
    "cloze": _("Sentence"),
    "crop": _("Span"),
    "written": _("Language model"),
}
"""Names of the origins of queries."""


@dataclass(frozen=True)
class GuideSettings:
    """Settings of the steps."""

    structure: bool = setting(True, "Titles, headings, questions and first sentences as queries.")
    crop: bool = setting(True, "Sentences and spans as queries, from passages that give no other.")
    llm: bool = setting(False, "Queries written by a language model, kept if they find their document. Time and cost are shown first.")
    passages: int = setting(200, "Number of passages to write queries for; 0 for all.", min=0)
    input_price: float = setting(0.0, "Price of a million input tokens; 0 if unknown.", min=0)
    output_price: float = setting(0.0, "Price of a million output tokens.", min=0)
    per_row: int = setting(1, "Number of hard negatives per pair.", min=1, max=8, step=1)
    margin: float = setting(
        0.05,
        "Texts within this share of the way from the positive's score down to that of unrelated texts may be relevant and are not used.",
        min=0.0,
        max=0.5,
        step=0.01,
    )

    @property
    def sources(self) -> list[str]:
        return [name for name in (*DEFAULT_SOURCES, "llm") if getattr(self, name)]


@dataclass(frozen=True)
class WritingInputs:
    """Endpoint of a language model, instruction, and the visitor's own queries, one per line."""

    llm_url: str | None = ""
    llm_model: str | None = ""
    llm_key: str | None = ""
    instruction: str | None = ""
    examples: str | None = ""

    def options(self, settings: GuideSettings) -> WritingOptions:
        own = tuple((line.strip(), "") for line in (self.examples or "")[:MAX_EXAMPLES].splitlines() if line.strip())
        prices = (settings.input_price, settings.output_price)
        return WritingOptions(
            (self.instruction or "").strip() or INSTRUCTION, own, settings.passages, prices=prices if any(prices) else None
        )

    def key(self, settings: GuideSettings) -> str:
        """Return a key of what an estimate depends on."""
        return form_key(self.llm_url, self.llm_model, self.instruction, self.examples, settings.passages)


@dataclass(frozen=True)
class StepResult:
    """Result of a job: one sentence, and the file that it made, if any."""

    text: str
    file: str = ""  # id in the visitor's files
    key: str = ""  # of an estimate: the settings that it is for
    model: str = ""

    def describe(self) -> str:
        return self.text


@dataclass(frozen=True)
class MadeData:
    """Results so far: the files of pairs and of negatives, and the newest run that was trained on one of them."""

    pairs: StoredFile | None = None
    negatives: StoredFile | None = None
    run: Run | None = None

    def about(self, step: str) -> dict[str, Any]:
        """Return the description of a result, with its messages; empty without one."""
        file = self.negatives if step == NEGATIVES else self.pairs
        found = {} if file is None else restore_messages(file.layout)
        if step != COMPARISON:
            return found
        comparison = found.get(COMPARISON) or {}
        return comparison if self.run is not None and comparison.get("model") == _model_state(self.run) else {}

    @property
    def newest(self) -> StoredFile | None:
        return self.negatives or self.pairs


def are_documents(selected: SelectedCorpus) -> bool:
    """Return whether the selected data can be cut into passages: they are documents, or a table with titles and longer texts."""
    corpus: Corpus = selected.corpus
    if selected.passages is not None:
        return True
    if any(normalize(name) in TITLE for name in selected.text_columns):
        return True
    titles = sum(map(len, next((cells for name, cells in corpus.fields.items() if normalize(name) in TITLE), ())))
    return titles > 0 and sum(map(len, corpus.texts)) > _LONGER * titles


def keep_made(page: Page, visitor: str, results: MadeData) -> None:
    """Record that results are in use, so that they are not the first to be removed when space is needed."""
    for file in (results.pairs, results.negatives):
        if file is not None:
            page.files.touch(visitor, file.id, "")


def count_documents(selected: SelectedCorpus) -> int:
    passages = selected.passages
    return len(selected.corpus) if passages is None else len({place.number for place in passages.places})


def find_made(page: Page, visitor: str, selected: SelectedCorpus) -> MadeData:
    """Return what was made from the selected documents."""
    files = page.files.list_files(visitor)
    data = selected.source_key
    pairs = next((file for file in files if file.use == _USES[PAIRS] and file.layout.get("data") == data), None)
    if pairs is None:
        return MadeData()
    negatives = next((file for file in files if file.use == _USES[NEGATIVES] and file.layout.get("pairs") == pairs.id), None)
    digests = {file_store.fingerprint(file.path).rpartition(" ")[2] for file in (pairs, negatives) if file is not None}
    runs = page.studio.fine_tune.list_runs(visitor)[:_MAX_RUNS]
    return MadeData(pairs, negatives, next((run for run in runs if _data_digest(page, run) in digests), None))


def _data_digest(page: Page, run: Run) -> str:
    try:
        return str(RunFiles(page.studio.workspace.run(run.id)).source()["data"]["sha256"])
    except (StudioError, KeyError, TypeError):
        return ""


def latest_job(page: Page, visitor: str, selected: SelectedCorpus) -> JobView | None:
    """Return the job with the selected data that waits or runs, else the newest one."""
    jobs = [job for job in page.studio.document_jobs.list_jobs(visitor) if _is_about(job, selected)]
    return next((job for job in jobs if job.active), jobs[-1] if jobs else None)


def _is_about(job: JobView, selected: SelectedCorpus) -> bool:
    return isinstance(job.about, JobTopic) and job.about.data == selected.source_key


def start_pairs(
    page: Page, visitor: str, selected: SelectedCorpus, model: str | None, settings: GuideSettings, writing: WritingInputs
) -> None:
    """Make pairs; of queries by a language model, first only estimate time and cost, unless they are known.

    Raises:
        StudioError: no source is chosen, or the language model cannot be used.
    """
    studio, key = page.studio, writing.key(settings)
    if not settings.sources:
        raise StudioError("no source of pairs is chosen", "choose at least one in the settings")
    if settings.llm and not studio.language_models.takes_addresses and not 0 < settings.passages <= _MAX_SHARED:
        raise StudioError(
            _("queries for {n} passages were requested", n=f"{settings.passages:,}" if settings.passages else _("all")),
            _("choose 1 to {most}: the language model is that of the page's operator", most=_MAX_SHARED),
        )
    options = writing.options(settings)
    is_estimate = settings.llm and not is_estimated(latest_job(page, visitor, selected), key)

    def work(begin: BeginPhase) -> StepResult:
        language_model = None
        if settings.llm:
            begin("asking the language model", "queries")
            language_model = studio.language_models.open(writing.llm_url or "", writing.llm_model or "", writing.llm_key or "")
        documents = _load(page, selected, begin)
        held_out = hold_out_documents(documents)
        source = studio.pairs.read(documents, model, begin)
        if language_model is not None and is_estimate:
            begin("asking the language model", "queries")
            return StepResult(studio.pairs.estimate(source, language_model, options, held_out).describe(), key=key)
        found = studio.pairs.make(
            source, settings.sources, language_model=language_model, writing=options, held_out=held_out, begin_phase=begin
        )
        text = join(" ", [_describe_pairs(found), _describe_test(page, documents, held_out, found, model, begin)])
        layout = {"data": selected.source_key, "text": text, "shown": _pairs_table(found)}
        name = f"{Path(selected.corpus.name).stem} pairs.jsonl"
        return StepResult(text, _store(page, visitor, PAIRS, name, found.write, layout))

    _submit(page, visitor, selected, ESTIMATE if is_estimate else PAIRS, work)


def is_estimated(job: JobView | None, key: str) -> bool:
    """Return whether the visitor has seen the time and cost of writing queries with these settings."""
    return job is not None and isinstance(job.result, StepResult) and job.result.key == key != ""


def start_negatives(page: Page, visitor: str, selected: SelectedCorpus, model: str | None, settings: GuideSettings) -> None:
    """Mine hard negatives for the pairs with the selected model; answers in the basket on doubtful texts are used."""
    pairs = _require_pairs(find_made(page, visitor, selected))
    basket = page.baskets.of(visitor)
    options = NegativeOptions(settings.per_row, relative_margin=settings.margin, baseline=None)

    def work(begin: BeginPhase) -> StepResult:
        documents = _load(page, selected, begin)
        held_out = hold_out_documents(documents)
        documents = replace(documents, documents=tuple(one for one in documents.documents if one.id not in held_out))
        found = page.studio.pairs.mine_negatives(pairs.path, documents, options, model=model, begin_phase=begin)
        judged = {(one.query, one.text): basket.find(doubtful_pair(one.query, one.text).id) for one in found.suspected}
        if not found.negatives:
            raise StudioError("no hard negatives were found", "train on the pairs as they are, or choose a smaller margin")
        found = found.with_answers({texts: pair.together for texts, pair in judged.items() if pair is not None})
        asked = Counter[str]()
        doubtful = []
        for one in found.suspected:  # a few of each query, those most similar first
            asked[one.query] += 1
            if asked[one.query] <= _MAX_PER_QUERY:
                doubtful.append([one.query, one.text, one.score])
        text = _describe_negatives(found)
        layout = {
            "data": selected.source_key,
            "pairs": pairs.id,
            "text": text,
            "shown": _negatives_table(found),
            "doubtful": doubtful[:_MAX_DOUBTFUL],
        }
        name = f"{Path(pairs.name).stem} and negatives.jsonl"
        return StepResult(text, _store(page, visitor, NEGATIVES, name, found.write, layout))

    _submit(page, visitor, selected, NEGATIVES, work)


def doubtful_pair(query: str, text: str, similar: bool = False) -> LabelledPair:
    """Return a text that may be relevant to a query as a pair of the basket."""
    return LabelledPair(query, text, similar, "Documents")


def start_comparison(page: Page, visitor: str, selected: SelectedCorpus) -> None:
    """Compare the search with the trained model and with its base model, by queries of documents that were not used for training."""
    made = find_made(page, visitor, selected)
    pairs, run = _require_pairs(made), made.run
    if run is None or run.model_path is None:
        raise StudioError("no model was trained on these pairs yet", "press Start training, and wait until it has ended")

    def work(begin: BeginPhase) -> StepResult:
        documents = _load(page, selected, begin)
        held_out = hold_out_documents(documents)
        known_items = _test_queries(documents, held_out, page.corpora.table(pairs.path).column("query"))
        found = page.studio.retrieval.evaluate([run.model, run.id], known_items, owner="", begin_phase=begin)
        text = _describe_comparison(found, len(held_out))
        comparison = {"model": _model_state(run), "text": text, "shown": _comparison_table(found, run)}
        now = page.files.get(visitor, pairs.id)
        layout = store_messages({**restore_messages(now.layout), COMPARISON: comparison})
        page.files.touch(visitor, now.id, "", layout)
        return StepResult(text)

    _submit(page, visitor, selected, COMPARISON, work)


def _model_state(run: Run) -> list[Any]:
    """Return what changes when a run goes on, or its strength is changed: a comparison of the earlier model then no longer applies."""
    return [run.id, run.step, run.after.get("strength")]


def _test_queries(documents: Documents, held_out: Collection[str], trained: Iterable[str]) -> RetrievalSet:
    """Return queries of held-out documents, which search all texts; of all documents if none are held out."""
    known_items = build_known_items(documents, held_out, sentences=True)
    if not held_out:
        return known_items
    unseen = known_items.unseen(trained)  # copies of a held-out document share its headings, and may have given pairs
    if not unseen:
        raise StudioError("the queries of all documents kept for the comparison were used for training", "remove copies of documents")
    return known_items.take(unseen)


def _describe_test(
    page: Page, documents: Documents, held_out: Collection[str], pairs: MadePairs, model: str | None, begin: BeginPhase
) -> str:
    """Search with the model to be trained, and describe which gain the comparison will be able to show."""
    if not held_out:
        return _(
            "Of fewer than {n} documents, none are kept to test the search, so a gain cannot be proved. Use questions of your own: "
            "Evaluate, Label relevance.",
            n=LEAST_DOCUMENTS,
        )
    kept = _("{n} documents are not used, so that they can test the search afterwards.", n=f"{len(held_out):,}")
    try:
        queries = _test_queries(documents, held_out, (pair.query for pair in pairs.all_pairs))
    except StudioError as error:
        return join(" ", [kept, to_sentence(error.message)])
    scores = page.studio.retrieval.evaluate([model] if model else [], queries, owner="", begin_phase=begin).models[0].scores
    least, score = None if scores is None else scores.detectable, 0.0 if scores is None else scores.means[METRICS[0]]
    values = {"n": f"{len(queries):,}", "score": f"{score:.3f}"}
    if least is None:
        found = _("They give {n} queries, too few to show a gain.", **values)
    elif score + least >= 1:
        found = _("Of {n} queries, the search already finds nearly everything (nDCG@10 {score}), so a gain cannot be shown.", **values)
    elif least < _LEAST_SHOWN:  # no query finds its document, so that the scores do not vary
        found = _("On {n} queries, nDCG@10 is {score} so far.", **values)
    else:
        found = _(
            "On {n} queries, nDCG@10 is {score} so far; a difference of more than about {least} is likely beyond chance, "
            "and a smaller one may be.",
            **values,
            least=f"{least:.3f}",
        )
    return join(" ", [kept, found])


def _submit(page: Page, visitor: str, selected: SelectedCorpus, step: str, work: Callable[[BeginPhase], StepResult]) -> None:
    """Queue a step. Only one runs with the same data: a later one would use results that the earlier one is about to replace.

    Nothing is queued if the same step is already under way, as after a second click.

    Raises:
        StudioError: another step is under way, or the visitor has removed the data.
    """
    _require_stored(page, visitor, selected.source_key)
    titles = {
        ESTIMATE: _("Estimate for {name}", name=selected.corpus.name),
        PAIRS: _("Pairs from {name}", name=selected.corpus.name),
        NEGATIVES: _("Hard negatives from {name}", name=selected.corpus.name),
        COMPARISON: _("Search in {name} before and after", name=selected.corpus.name),
    }
    with SUBMITTING:
        active = [job for job in page.studio.document_jobs.list_active(visitor) if _is_about(job, selected)]
        if any(job.about == JobTopic(selected.source_key, step) for job in active):
            return
        if active:
            raise StudioError(_("{title} is still under way", title=active[0].title), "wait until it has ended, or stop it")
        page.studio.document_jobs.submit(visitor, titles[step], work, about=JobTopic(selected.source_key, step, session_id()))


def _require_stored(page: Page, visitor: str, data: str) -> None:
    """Raise a StudioError if the visitor has removed the data of a key."""
    source = data.partition(" ")[0]
    if source.startswith(FILE):
        page.files.get(visitor, source.removeprefix(FILE))


def _load(page: Page, selected: SelectedCorpus, begin: BeginPhase) -> Documents:
    column = None if selected.passages is not None or selected.text_columns else selected.column
    return page.studio.documents.load(selected.path, name=selected.corpus.name, column=column, progress=begin("reading", "files"))


def _require_pairs(results: MadeData) -> StoredFile:
    if results.pairs is None:
        raise StudioError("there are no pairs yet", "press Make pairs first")
    return results.pairs


def _store(page: Page, visitor: str, step: str, name: str, write: Callable[[Path], None], layout: Mapping[str, Any]) -> str:
    """Store a result with its description, in place of the earlier one of the same data, and return its id.

    Raises:
        StudioError: there is not enough space, or the visitor has removed the data meanwhile.
    """
    _require_stored(page, visitor, str(layout["data"]))
    path = page.downloads.path(name)
    write(path)
    described = store_messages(layout)
    earlier = [file for file in page.files.list_files(visitor) if (file.use, file.layout.get("data")) == (_USES[step], layout["data"])]
    for file in earlier:
        # The same pairs again: a comparison of the model that was trained on them still applies.
        if COMPARISON in file.layout and file.path.read_bytes() == path.read_bytes():
            described |= {COMPARISON: file.layout[COMPARISON]}
    stored = page.files.save(visitor, path, name, "", _USES[step], described)
    path.unlink(missing_ok=True)
    if stored is None:
        raise StudioError("there is not enough space to store the result", "remove other files first (Add data)")
    for file in earlier:
        if file.id != stored.id:
            page.files.remove(visitor, file.id)
    return stored.id


def _describe_pairs(pairs: MadePairs) -> str:
    dropped = sum(number for reasons in pairs.dropped.values() for reason, number in reasons.items() if reason != HELD_OUT)
    left_out = ngettext("{n} candidate was dropped.", "{n} candidates were dropped.", dropped)
    return join(" ", [pairs.describe(), left_out] if dropped else [pairs.describe()])


def _pairs_table(pairs: MadePairs) -> Value:
    """Return ten pairs of each origin, and the number of pairs that were kept and dropped."""
    counts = []
    for origin in dict.fromkeys((*pairs.kept, *pairs.dropped)):
        reasons = list_counts(pairs.dropped.get(origin, {}))
        values = {"origin": ORIGINS[origin], "kept": f"{pairs.kept.get(origin, 0):,}"}
        counts.append(
            _("{origin}: {kept} kept; dropped: {reasons}.", **values, reasons=reasons) if reasons else _("{origin}: {kept} kept.", **values)
        )
    rows = [[ORIGINS[pair.origin], shorten(pair.query), shorten(pair.document)] for pair in pairs.examples]
    columns = [column("Source", ours=True), column("Query"), column("Passage", main=True)]
    return table(columns, rows, caption="Ten pairs of each source", note=join(" ", [*counts, *pairs.notes]))


def _describe_negatives(mined: MinedNegatives) -> str:
    parts = [
        ngettext(
            "{n} hard negative among {corpus} texts.",
            "{n} hard negatives among {corpus} texts.",
            mined.negatives,
            corpus=f"{mined.corpus:,}",
        )
    ]
    if mined.without:
        parts.append(ngettext("{n} pair has none and is left out.", "{n} pairs have none and are left out.", mined.without))
    if mined.suspected_false:
        parts.append(
            ngettext(
                "In {n} case, a similar text may be relevant to the query and is not used.",
                "In {n} cases, a similar text may be relevant to the query and is not used.",
                mined.suspected_false,
            )
        )
    return join(" ", [*parts, *mined.describe_margin()])


def _negatives_table(mined: MinedNegatives) -> Value:
    rows: list[list[object]] = []
    for row in mined.examples:
        rows.append([shorten(row.query), _("Positive"), shorten(row.positive), row.positive_score])
        for text, score in zip(row.negatives, row.negative_scores, strict=True):
            rows.append([shorten(row.query), _("Negative"), shorten(text), score])
    columns = [column("Query"), column("Kind", ours=True), column("Passage", main=True), column("Score", "number")]
    return table(columns, rows, caption="Ten pairs with their hard negatives", note=join(" ", mined.notes))


def _describe_comparison(evaluation: RetrievalResult, held_out: int) -> str:
    result = evaluation.comparisons[0]
    change = describe_change(*result.scores, result.interval)
    values = {
        "before": change.before,
        "after": change.after,
        "verdict": result.description if result.better is None else _("better") if result.difference > 0 else _("worse"),
        "queries": f"{evaluation.queries:,}",
    }
    if result.interval is None:
        first = _("nDCG@10 {before} before, {after} after, on {queries} queries: too few to tell.", **values)
    else:
        low, high = (bound.replace("-", "−") for bound in change.interval)
        first = _(
            "nDCG@10 {before} before, {after} after, on {queries} queries: {verdict} (95 % interval of the difference {low} to {high}).",
            **values,
            low=low,
            high=high,
        )
    if held_out:
        second = _("The queries are from the structure of {n} documents that were not used for training.", n=f"{held_out:,}")
    else:
        second = _("The queries are from documents that the model was trained on, so the difference is too large.")
    return join(" ", [first, second])


def _comparison_table(result: RetrievalResult, run: Run) -> Value:
    systems = sorted((*result.models, *result.baselines), key=lambda one: -one.metric(METRICS[0]))
    rows = [
        [one.name.replace(run.id, run.name), _interval(one.intervals.get(METRICS[0]), one.metric(METRICS[0]))]
        + [one.metric(name) for name in METRICS[1:4]]
        for one in systems
    ]
    labels = ["nDCG@10", "Recall@10", "Recall@100", "MRR@10"]
    columns = [column("Search", main=True), column(labels[0], "interval"), *(column(name, "number") for name in labels[1:])]
    return table(
        columns, rows, caption="Search before and after, beside BM25", note=join(" ", [result.known_item, *map(to_sentence, result.notes)])
    )


def _interval(bounds: list[float] | None, score: float) -> list[float]:
    low, high = bounds or (score, score)
    return [low, score, high]
