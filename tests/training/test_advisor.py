from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sbert_studio.data.examples import Examples
from sbert_studio.errors import StudioError
from sbert_studio.training.advisor import advise
from sbert_studio.training.spec import DEFAULT_EPOCHS, TrainSpec

from .tiny import bare_sentences, labelled_pairs, positive_pairs, scored_pairs

MINILM: dict[str, Any] = {"name": "all-MiniLM-L6-v2", "backbone": "bert", "parameters": 22_700_000, "max_length": 256}
SMOLLM: dict[str, Any] = {"name": "SmolLM2-135M", "backbone": "llama", "parameters": 134_500_000, "max_length": 512}
EPOCHS = f"{DEFAULT_EPOCHS:g}"  # first word of the reason for the number of epochs


@pytest.mark.parametrize("default", [2.5, 4.0, 9.0])
def test_the_reason_for_the_epochs_depends_on_the_rows_and_not_on_the_default(default: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sbert_studio.training.advisor.DEFAULT_EPOCHS", default)

    def reason(examples: Examples, **overrides: str) -> str:
        (found,) = (one for one in advise(examples, info=MINILM, overrides=overrides).reasons if " rows: " in one and " epoch" in one)
        return found

    assert reason(scored_pairs(1200)) == f"{default:g} epochs of 1,200 rows: the best of these is kept."
    assert "at a high rate this is enough" in reason(scored_pairs(300))
    assert "with few rows, more passes help" in reason(scored_pairs(300), method="lora")
    assert reason(positive_pairs()) == f"{default:g} epochs of {len(positive_pairs())} rows: with few rows, more passes help."


def test_scored_pairs_get_what_measured_best() -> None:
    spec = advise(scored_pairs(1200), info=MINILM).spec
    assert (spec.loss, spec.method, spec.batch_size, spec.learning_rate) == ("cosine+cosent", "full", 32, 1e-4)
    assert spec.epochs == TrainSpec().epochs == 4, "the default in one place, and tested only here"
    assert spec.soup == 3
    assert spec.dropout == 0
    spec = advise(scored_pairs(300), info=MINILM).spec
    assert (spec.loss, spec.batch_size, spec.learning_rate, spec.epochs) == ("cosine", 16, 1e-4, 3.0)
    assert spec.soup == 1
    spec = advise(scored_pairs(1200), info=SMOLLM).spec
    assert (spec.method, spec.learning_rate) == ("lora", 5e-4)


@pytest.mark.parametrize(
    "chosen",
    [{"epochs": 2}, {"seeds": 3}, {"folds": 3}, {"method": "lora"}, {"architecture": "cross"}, {"architecture": "poly"}, {"soup": 1}],
    ids=str,
)
def test_several_trainings_are_made_only_where_nobody_said_how_long_or_how_many(chosen: dict[str, Any]) -> None:
    spec = advise(scored_pairs(1200), info=MINILM, overrides=chosen).spec
    assert (spec.soup, spec.dropout) == (1, -1)
    assert advise(scored_pairs(1200), info={**MINILM, "parameters": 110_000_000}).spec.soup == 1


@pytest.mark.parametrize(("device", "tokens", "size"), [("cpu", 20, 64), ("cpu", 150, 32), ("cuda", 150, 64)])
def test_long_texts_get_smaller_batches_of_negatives_without_a_gpu(device: str, tokens: int, size: int) -> None:
    pairs = positive_pairs()
    pairs = pairs.take(list(range(len(pairs))) * (1_100 // len(pairs) + 1))
    assert advise(pairs, info=MINILM, device=device, lengths=[tokens] * 50).spec.batch_size == size


def test_of_rows_too_few_to_be_judged_by_nothing_is_promised() -> None:
    said = " ".join(advise(scored_pairs(12), info=MINILM).reasons)
    assert "each step uses all 12 rows at once" in said and "smaller batches" not in said and "evaluate every row" not in said
    assert "evaluate every row" in " ".join(advise(scored_pairs(300), info=MINILM).reasons)


@pytest.mark.parametrize(
    ("examples", "objective"), [(labelled_pairs(), "cosent"), (positive_pairs(), "in_batch"), (bare_sentences(), "simcse")]
)
def test_each_kind_gets_an_objective_that_learns_from_it(examples: Examples, objective: str) -> None:
    assert advise(examples, info=MINILM).spec.loss == objective


def test_labels_without_an_order_get_the_classifier_and_unknown_settings_are_refused() -> None:
    assert advise(replace(labelled_pairs(), labels=("apple", "pear", "plum"), ordered=False), info=MINILM).spec.loss == "softmax"
    assert advise(replace(labelled_pairs(), labels=("no", "yes"), ordered=False), info=MINILM).spec.loss == "softmax"
    with pytest.raises(StudioError, match="margin"):
        advise(scored_pairs(), info=MINILM, overrides={"margin": 1})


def test_what_the_user_chose_is_kept_and_what_depends_on_it_follows() -> None:
    advice = advise(scored_pairs(1200), info=MINILM, overrides={"method": "lora", "epochs": 1, "scale": 10, "loss": "cosent"})
    assert (advice.spec.method, advice.spec.epochs, advice.spec.learning_rate) == ("lora", 1.0, 5e-4)
    assert advice.spec.loss_params == {"scale": 10}
    assert "Method lora: chosen by you." in advice.reasons


def test_a_cross_encoder_gets_its_own_objective_and_rate() -> None:
    chosen = {"architecture": "cross"}
    advice = advise(scored_pairs(1200), info=MINILM, lengths=[300] * 100, overrides=chosen)
    assert (advice.spec.loss, advice.spec.batch_size, advice.spec.learning_rate) == ("mse", 16, 5e-5)
    assert advice.spec.max_length == 0, "the lengths of single texts say nothing of pairs"
    assert [reason.split()[0] for reason in advice.reasons] == ["Architecture", "Loss", "Method", "Batch", "Learning", EPOCHS]
    assert advise(scored_pairs(1200), info={**MINILM, "parameters": 110_000_000}, overrides=chosen).spec.learning_rate == 2e-5
    assert advise(labelled_pairs(), info=MINILM, overrides=chosen).spec.loss == "cross_entropy"
    two = replace(labelled_pairs(), labels=("no", "yes"))
    assert advise(two, info=MINILM, overrides=chosen).spec.loss == "binary_cross_entropy"
    own = advise(scored_pairs(), info=MINILM, overrides={**chosen, "sigmoid": "yes"})
    assert own.spec.loss_params == {"sigmoid": "yes"}
    with pytest.raises(StudioError, match="not on positive pairs"):
        advise(positive_pairs(), info=MINILM, overrides=chosen)
    with pytest.raises(StudioError, match="no cross-encoder loss 'cosine'"):
        advise(scored_pairs(), info=MINILM, overrides={**chosen, "loss": "cosine"})


def test_each_choice_has_its_reason_and_long_texts_lengthen_the_limit() -> None:
    reasons = advise(scored_pairs(1200), info=MINILM, lengths=[5, 20, 40]).reasons
    assert [reason.split()[0] for reason in reasons] == ["Loss", "Method", "Batch", "Learning", EPOCHS, "Soup", "No", "Max"]
    assert all(reason.endswith(".") for reason in reasons)
    assert advise(scored_pairs(), info=MINILM, lengths=[300] * 100).spec.max_length == 304
    short = advise(scored_pairs(), info=MINILM, lengths=[30, 40] * 50, overrides={"max_length": 32})
    assert short.spec.max_length == 32 and any("50% of the texts are longer and will be cut" in reason for reason in short.reasons)


def test_a_script_the_model_hardly_knows_is_named() -> None:
    from dataclasses import replace

    texts = {
        "Chinese or Japanese": ("一个女孩在给她的头发做造型", "一群男人在海滩上踢足球", "これはペンです", "男人"),
        "Hebrew": ("הילדה מסרקת את שערה", "גברים משחקים כדורגל", "אישה", "גבר"),
        "Thai": ("ผู้หญิงกำลังทำผม", "ผู้ชายเล่นฟุตบอล", "ผู้หญิง", "ผู้ชาย"),
        "Greek": ("Ένα κορίτσι χτενίζεται", "Άντρες παίζουν ποδόσφαιρο", "γυναίκα", "άντρας"),
    }
    for script, column in texts.items():
        reasons = advise(replace(scored_pairs(4), texts=(column, column)), info=MINILM).reasons
        assert any(f"Most texts are in {script} script" in reason for reason in reasons), script
    assert not any("script" in reason for reason in advise(scored_pairs(4), info=MINILM).reasons)


def test_of_a_table_of_words_the_words_learn_unless_something_new_does() -> None:
    glove = {"name": "glove-6B-50d", "kind": "words", "backbone": "word vectors", "parameters": 20_000_000, "max_length": 1_000_000}
    spec = advise(scored_pairs(1200), info=glove).spec
    assert (spec.learn_words, spec.method, spec.learning_rate, spec.epochs) == (True, "full", 1e-3, 2 * DEFAULT_EPOCHS)
    new = advise(scored_pairs(1200), info=glove, overrides={"recurrent": "gru"}).spec
    assert (new.learn_words, new.recurrent) == (False, "gru")
    assert not advise(scored_pairs(1200), info=MINILM).spec.learn_words
