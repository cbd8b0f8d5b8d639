"""The modes of an answer, with a model that follows a script."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import pytest
from asgiref.sync import async_to_sync

from search import pipeline
from search.answers import answering
from search.answers.domain import (
    Answered,
    AnswerParameters,
    Checked,
    Done,
    Event,
    Mode,
    NewStep,
    Sources,
    State,
    Token,
    Verdict,
)
from search.answers.making import searching, writing
from search.answers.models import Answer
from search.answers.quotes import Extract
from search.answers.request import AnswerRequest
from search.domain import Signal, Stage
from search.engine.response import SearchResponse
from search.errors import BudgetExceeded, EmptyQuestion, ModelUnavailable
from tests.support.database import lasting
from tests.support.factories import make_collection, make_document
from tests.support.library import POOL, TIMEOUTS
from tests.support.scripted_model import ONE_CALL, ScriptedModel

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("shelf")]

QUESTION = "How long is a connection timeout?"
TRUE = "Set the timeout to five seconds [1]."
FALSE = "The timeout is 47 hours [1]."
AWAY = ModelUnavailable("timeout", "The language model does not answer.")
REFUSAL = "Nothing answers this."
PARAMETERS = AnswerParameters(
    refusal=REFUSAL, system_prompt="Answer from $fence.", refuse_below=0.0
)

# A context of one passage a search, so that a second one adds to it.
NARROW = replace(PARAMETERS, candidates=1)
ABOUT_POOL = '{"question": "pool size"}'
Used = TypeVar("Used", bound=ScriptedModel | Exception | None)


@pytest.fixture(scope="module")
def shelf(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Two documents of one passage, made once for all tests."""
    with lasting(django_db_blocker):
        collection = make_collection()
        make_document(collection, TIMEOUTS, file_name="timeouts.md")
        make_document(collection, POOL, file_name="pool.md")
        yield


@pytest.fixture(autouse=True)
def confidences(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """The retrieval's confidence by the text searched for; .9 if it is not in it."""
    known: dict[str, float] = {}
    told = property(lambda response: known.get(response.query.original, 0.9))
    monkeypatch.setattr(SearchResponse, "confidence", told)
    return known


def parameters(**changed: Any) -> AnswerParameters:
    return replace(PARAMETERS, **changed)


def use(monkeypatch: pytest.MonkeyPatch, model: Used) -> Used:
    def model_for(*_: object) -> ScriptedModel | None:
        if isinstance(model, Exception):
            raise model
        return model

    monkeypatch.setattr(answering, "model_for", model_for)
    return model


def told(asked: AnswerRequest) -> list[Event]:
    async def collected() -> list[Event]:
        return [event async for event in answering.events(asked)]

    return async_to_sync(collected)()


def ask(mode: Mode = Mode.INSTANT, **changed: Any) -> tuple[Answered, list[Event]]:
    given = {
        "question": QUESTION,
        "viewer": None,
        "mode": mode,
        "parameters": PARAMETERS,
        **changed,
    }
    events = told(AnswerRequest(**given))
    done = events[-1]
    assert isinstance(done, Done)
    assert shown(events) == done.answer.text or done.answer.degraded or changed
    return done.answer, events


def shown(events: Sequence[Event]) -> str:
    """The text of a reader who follows the stream: new sources begin it anew."""
    text = ""
    for event in events:
        if isinstance(event, Sources):
            text = ""
        elif isinstance(event, Token):
            text += event.text
    return text


def steps(answer: Answered) -> list[str]:
    return [step.name for step in answer.steps]


def test_instant_mode_makes_one_search_and_one_model_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """S4-13, S5-16: sources first, the sentences checked as they complete, one row."""
    pieces = [
        "Set the timeout ",
        "to five seconds [",
        "1].\n\n",
        "The ",
        "timeout is ",
        "47 hours [1].",
    ]
    model = use(monkeypatch, ScriptedModel(pieces))
    answer, events = ask()

    assert (answer.mode, answer.state, model.calls) == (Mode.INSTANT, State.DONE, ["answer"])
    assert steps(answer) == ["search", "answer"]
    assert answer.steps[1].usage == answer.usage == ONE_CALL
    assert [type(each) for each in events[:2]] == [NewStep, Sources]
    checked = [each for each in events if isinstance(each, Checked)]
    assert [each.index for each in checked] == [0, 1]
    assert [each.sentence.verdict for each in checked] == [Verdict.SUPPORTED, Verdict.UNSUPPORTED]
    assert events.index(checked[0]) < max(
        place for place, event in enumerate(events) if isinstance(event, Token)
    )
    row = Answer.objects.get(public_id=answer.id)
    assert (row.state, row.text, row.model) == ("done", answer.text, "scripted")
    assert row.sources.filter(cited=True).count() == 1
    assert answer.first_token_ms is not None
    assert answer.first_token_ms <= answer.milliseconds


def test_a_confident_auto_answer_is_instant(
    monkeypatch: pytest.MonkeyPatch, confidences: dict[str, float]
) -> None:
    """S4-15: at the threshold itself nothing is tried again."""
    confidences[QUESTION] = 0.3
    model = use(monkeypatch, ScriptedModel(TRUE))
    answer, _ = ask(Mode.AUTO)
    assert (answer.asked_mode, answer.mode, model.calls) == (Mode.AUTO, Mode.INSTANT, ["answer"])


def test_auto_searches_again_before_the_reader_sees_an_answer(
    monkeypatch: pytest.MonkeyPatch, confidences: dict[str, float]
) -> None:
    """S4-15: a low confidence of the retrieval costs a second search, not a second answer."""
    confidences[QUESTION] = 0.29
    model = ScriptedModel(TRUE, rewrite='{"question": "seconds before a connection fails"}')
    use(monkeypatch, model)
    answer, events = ask(Mode.AUTO)

    assert model.calls == ["rewrite", "answer"]
    assert steps(answer) == ["search", "rewrite", "search", "answer"]
    assert answer.steps[2].detail == "seconds before a connection fails"
    assert (answer.mode, answer.retrieval_confidence) == (Mode.AUTO, 0.9)
    assert sum(isinstance(each, Sources) for each in events) == 1


@pytest.mark.parametrize("mode", [Mode.INSTANT, Mode.AUTO])
@pytest.mark.parametrize("rewrite", ['{"question": "connection timeout"}', "no JSON"])
def test_a_question_in_a_language_of_no_document_is_translated_and_left_to_the_model(
    monkeypatch: pytest.MonkeyPatch, confidences: dict[str, float], mode: Mode, rewrite: str
) -> None:
    """A search by words finds nothing, and is no reason to refuse."""
    german = "Wie lange ist das Zeitlimit der Verbindung?"
    confidences |= {german: 0.03, "connection timeout": 0.1}
    model = use(monkeypatch, ScriptedModel(f"{TRUE[:-4]}[1][2].", rewrite=rewrite))
    low = parameters(refuse_below=0.2)
    answer, _ = ask(mode, question=german, parameters=low)
    assert (answer.state, model.calls) == (State.DONE, ["rewrite", "answer"])
    assert "The documents are in English: where" in model.prompts[0]

    confidences[QUESTION] = 0.03
    use(monkeypatch, ScriptedModel(rewrite=rewrite))
    assert ask(mode, parameters=low)[0].state is State.REFUSED
    use(monkeypatch, ScriptedModel(rewrite=AWAY))
    assert ask(mode, question=german, parameters=low)[0].state is State.REFUSED


def test_the_budget_is_of_the_models_tokens_and_half_for_a_lookup(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = use(monkeypatch, ScriptedModel(TRUE, TRUE, TRUE))
    small = parameters(context_tokens=100)
    (whole, _), (lookup, _) = ask(parameters=small), ask(question="timeouts.md", parameters=small)
    assert (whole.context.budget, lookup.context.budget) == (100, 50)

    model.counted_tokens = 0.6
    more, _ = ask(parameters=small)
    assert more.context.budget == 100 >= more.context.tokens
    assert sum(each.tokens for each in more.context.passages) > 100


def test_auto_answers_again_after_an_answer_of_low_confidence(
    monkeypatch: pytest.MonkeyPatch, confidences: dict[str, float]
) -> None:
    """S4-15 to S4-17: .4 x .6 is below .3; the second answer replaces the first."""
    confidences[QUESTION] = 0.4
    model = use(monkeypatch, ScriptedModel(FALSE, TRUE, rewrite=ABOUT_POOL))
    answer, events = ask(Mode.AUTO, parameters=NARROW)

    assert model.calls == ["answer", "rewrite", "answer"]
    assert (answer.text, answer.mode) == (TRUE, Mode.AUTO)
    assert answer.confidence == pytest.approx(0.9)
    assert sum(isinstance(each, Sources) for each in events) == 2
    assert answer.usage.prompt_tokens == 300


@pytest.mark.parametrize("second", [[FALSE], [AWAY], ["The timeout is", AWAY], [REFUSAL]])
def test_auto_keeps_the_first_answer_if_the_second_is_no_better(
    monkeypatch: pytest.MonkeyPatch, confidences: dict[str, float], second: list[Any]
) -> None:
    confidences |= {QUESTION: 0.4, "pool size": 0.1}
    first = f"{TRUE}\n\n{FALSE}"
    model = use(monkeypatch, ScriptedModel(first, second, rewrite=ABOUT_POOL))
    answer, events = ask(Mode.AUTO, parameters=parameters(escalate_below=0.39, candidates=1))
    assert model.calls == ["answer", "rewrite", "answer"]
    assert (answer.text, answer.state, answer.degraded) == (first, State.DONE, ())
    assert len(answer.sentences) == 2
    assert shown(events) == first


def test_auto_tries_again_after_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that says that the passages do not answer is worth nothing, too."""
    use(monkeypatch, ScriptedModel(REFUSAL, TRUE, rewrite=ABOUT_POOL))
    answer, _ = ask(Mode.AUTO, parameters=NARROW)
    assert (answer.state, answer.text) == (State.DONE, TRUE)


@pytest.mark.parametrize(("text", "stays"), [("Set the timeout", False), (f"{TRUE} And the", True)])
def test_truncated_answer_is_not_generated_again(
    monkeypatch: pytest.MonkeyPatch, text: str, stays: bool
) -> None:
    """An endless stream would be cut the second time, too; whole sentences stay, with a note."""
    model = ScriptedModel(text, TRUE, rewrite=ABOUT_POOL)
    model.finish = "length"
    use(monkeypatch, model)
    answer, _ = ask(Mode.AUTO, parameters=NARROW)
    assert answer.is_cut is stays
    assert answer.notes
    assert model.calls == ["answer"]


def test_auto_does_not_ask_twice_about_the_same_passages(monkeypatch: pytest.MonkeyPatch) -> None:
    model = use(monkeypatch, ScriptedModel(REFUSAL, rewrite="no JSON at all"))
    answer, _ = ask(Mode.AUTO)
    assert (answer.state, model.calls) == (State.REFUSED, ["answer", "rewrite"])


@pytest.mark.parametrize("mode", list(Mode))
def test_without_a_model_every_mode_is_instant(
    monkeypatch: pytest.MonkeyPatch, confidences: dict[str, float], mode: Mode
) -> None:
    """S4-15: without a model nothing escalates."""
    confidences[QUESTION] = 0.1
    use(monkeypatch, None)
    answer, _ = ask(mode)
    assert (answer.asked_mode, answer.mode, answer.model) == (mode, Mode.INSTANT, "")
    assert steps(answer) == ["search", "quotes"]
    assert answer.degraded == ()


def test_thinking_searches_in_parts_and_repairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """F4-07: the question as asked is one of the searches; one round of repair."""
    split = '{"searches": ["connection timeout", "pool size", "a third", "a fourth"]}'
    model = use(monkeypatch, ScriptedModel(f"{TRUE}\n\n{FALSE}", split=split, repair=TRUE))
    answer, events = ask(Mode.THINKING, parameters=parameters(max_searches=3))

    assert model.calls == ["split", "answer", "repair"]
    assert steps(answer) == ["search", "split", "search", "search", "answer", "repair"]
    details = [step.detail for step in answer.steps if step.name == "search"]
    assert details == [QUESTION, "connection timeout", "pool size"]
    assert (answer.mode, answer.text) == (Mode.THINKING, TRUE)
    assert "47" in model.prompts[2]
    assert shown(events) == TRUE
    assert answer.usage.completion_tokens == 60


@pytest.mark.parametrize("reply", [AWAY, f"{FALSE} {FALSE}", "", REFUSAL])
def test_repair_without_improvement_is_dropped(
    monkeypatch: pytest.MonkeyPatch, reply: str | Exception
) -> None:
    model = ScriptedModel(f"{TRUE}\n\n{FALSE}", split='{"searches": []}', repair=reply)
    use(monkeypatch, model)
    answer, _ = ask(Mode.THINKING)
    assert answer.text == f"{TRUE}\n\n{FALSE}"
    assert (answer.state, answer.degraded) == (State.DONE, ())
    assert any("could not be corrected" in note for note in answer.notes) is (reply is AWAY)


def test_invalid_search_planned_by_the_model_is_skipped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use(monkeypatch, ScriptedModel(TRUE, split='{"searches": ["-timeout", "title:"]}'))
    answer, _ = ask(Mode.THINKING)
    assert answer.state is State.DONE


def test_low_confidence_refuses_without_asking_a_model(
    monkeypatch: pytest.MonkeyPatch, confidences: dict[str, float]
) -> None:
    """The nearest passages stay in the context."""
    confidences[QUESTION] = 0.19
    model = use(monkeypatch, ScriptedModel())
    answer, events = ask(Mode.INSTANT, parameters=parameters(refuse_below=0.2))
    assert (answer.state, answer.text, model.calls) == (State.REFUSED, REFUSAL, [])
    assert answer.context.passages
    assert Answer.objects.get().state == "refused"
    assert shown(events) == REFUSAL


def test_refusal_of_the_model_is_a_refused_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """S5-34. A refusal claims nothing: no sentence of it is marked."""
    use(monkeypatch, ScriptedModel(["Nothing ", "answers this."]))
    answer, events = ask(Mode.INSTANT)
    assert (answer.state, answer.text, answer.sentences) == (State.REFUSED, REFUSAL, ())
    assert not any(isinstance(each, Checked) for each in events)
    assert answer.context.passages


@pytest.mark.parametrize("pieces", [[AWAY], [""], ["   "], [" [1]"], ["The timeout is", AWAY]])
def test_quotes_replace_an_answer_without_a_sentence(
    monkeypatch: pytest.MonkeyPatch, pieces: list[Any]
) -> None:
    use(monkeypatch, ScriptedModel(pieces))
    answer, events = ask(Mode.INSTANT)
    assert (answer.state, answer.degraded, answer.model) == (State.DONE, ("model",), "")
    assert steps(answer) == ["search", "answer", "quotes"]
    assert "quoted" in answer.notes[-1]
    assert answer.sentences
    assert shown(events) == answer.text


def test_complete_sentences_of_a_broken_stream_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, ScriptedModel([f"{TRUE} The pool", " holds at mo", AWAY]))
    answer, _ = ask(Mode.AUTO)
    assert (answer.text, answer.state, answer.degraded) == (TRUE, State.DONE, ("model",))
    assert (answer.model, "cut" in answer.notes[-1]) == ("scripted", True)
    assert answer.notes[-1].endswith(str(AWAY))  # what it advises comes last
    assert [each.verdict for each in answer.sentences] == [Verdict.SUPPORTED]


@pytest.mark.parametrize("mode", list(Mode))
def test_a_used_up_budget_is_named(monkeypatch: pytest.MonkeyPatch, mode: Mode) -> None:
    use(monkeypatch, BudgetExceeded("Your budget of 5 USD is used up."))
    answer, _ = ask(mode)
    assert (answer.degraded, answer.mode) == (("budget",), Mode.INSTANT)
    assert answer.notes[-1].startswith("Your budget of 5 USD is used up.")


@pytest.mark.parametrize(("mode", "failing"), [(Mode.AUTO, "rewrite"), (Mode.THINKING, "split")])
def test_a_model_that_fails_before_the_answer_is_not_asked_again(
    monkeypatch: pytest.MonkeyPatch, confidences: dict[str, float], mode: Mode, failing: str
) -> None:
    confidences[QUESTION] = 0.25
    model = use(monkeypatch, ScriptedModel(**{failing: AWAY}))
    answer, _ = ask(mode)
    assert (model.calls, answer.mode) == ([failing], Mode.INSTANT)
    assert (answer.state, answer.degraded) == (State.DONE, ("model",))
    (step,) = (each for each in answer.steps if each.name == failing)
    assert (step.detail, step.usage) == ("", ONE_CALL)


ECHO = "The passage is:\n\n<passages-1>\n[1] Is it 47 hours?\n\nThe passage is:"
EMPTY = "Vendors recommend a grey cabinet [1]."  # not verified, without a hard mark


@pytest.mark.parametrize(
    "text",
    [FALSE, f"{FALSE} {FALSE} {FALSE} {TRUE}", "It is 47 hours.", ECHO, EMPTY, f"{EMPTY} " * 6],
)
def test_quotes_replace_an_answer_with_little_support(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    use(monkeypatch, ScriptedModel(text))
    answer, events = ask(Mode.INSTANT)
    assert (answer.model, answer.state) == ("", State.DONE)
    assert "47" not in answer.text
    assert "cabinet" not in answer.text
    assert shown(events) == answer.text
    assert "quoted" in answer.notes[-1]


@pytest.mark.parametrize("script", [[FALSE], [AWAY]])
def test_missing_quotes_are_not_announced(
    monkeypatch: pytest.MonkeyPatch, script: list[Any]
) -> None:
    """Neither in place of unsupported sentences nor of a model that is away."""
    use(monkeypatch, ScriptedModel(script))
    monkeypatch.setattr(writing, "extracted", lambda *_: Extract())
    answer, _ = ask(Mode.INSTANT)
    assert (answer.state, answer.text) == (State.REFUSED, REFUSAL)
    assert answer.notes
    assert not any("quoted" in note for note in answer.notes)


@pytest.mark.parametrize("failure", [AWAY, BudgetExceeded("It is used up.")])
def test_refusal_names_the_model_that_failed(
    monkeypatch: pytest.MonkeyPatch, confidences: dict[str, float], failure: ModelUnavailable
) -> None:
    confidences[QUESTION] = 0.1
    use(monkeypatch, ScriptedModel(rewrite=failure))
    answer, _ = ask(Mode.AUTO, parameters=parameters(refuse_below=0.2))
    named = "model" if failure is AWAY else "budget"
    assert (answer.state, answer.degraded) == (State.REFUSED, (named,))
    assert answer.notes == (str(failure),)


def test_answer_without_citation_counts_as_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    """It cites nothing, so it is worth nothing: auto tries again before it believes it."""
    other = "I don't know."
    model = use(monkeypatch, ScriptedModel(other, other, rewrite=ABOUT_POOL))
    answer, _ = ask(Mode.AUTO, parameters=NARROW)
    assert model.calls == ["answer", "rewrite", "answer"]
    assert (answer.state, answer.text, answer.confidence) == (State.REFUSED, other, 0.0)
    assert Answer.objects.get().state == "refused"

    use(monkeypatch, ScriptedModel(other, TRUE, rewrite=ABOUT_POOL))
    answer, _ = ask(Mode.AUTO, parameters=NARROW)
    assert (answer.state, answer.text) == (State.DONE, TRUE)


def test_answer_carries_degradations_and_notes_of_its_search(
    monkeypatch: pytest.MonkeyPatch, confidences: dict[str, float]
) -> None:
    """But not which documents are hidden; and what a refused question may have meant."""
    searched = pipeline.search

    def search(*args: Any, **options: Any) -> SearchResponse:
        found = searched(*args, **options)
        query = replace(found.query, hidden=frozenset({1}))
        settled = replace(found.settled, query=query)
        return replace(
            found,
            ranking=replace(found.ranking, settled=settled),
            degraded=(Signal.VECTOR, Stage.RERANKER),
            notes=("Your question was cut.", "Hidden from this question: “Plans”."),
            suggestion="connection timeout",
        )

    monkeypatch.setattr(pipeline, "search", search)
    monkeypatch.setattr(
        searching, "hiding_notes", lambda *_: ("Hidden from this question: “Plans”.",)
    )
    use(monkeypatch, ScriptedModel(TRUE, split='{"searches": ["pool size"]}'))
    answer, _ = ask(Mode.THINKING)
    assert answer.degraded == ("vector", "reranker")
    assert answer.notes == ("Your question was cut.",)

    confidences[QUESTION] = 0.1
    use(monkeypatch, None)
    refused, _ = ask(parameters=parameters(refuse_below=1.0))
    assert refused.state is State.REFUSED
    assert refused.notes == ("Your question was cut.", "Did you mean “connection timeout”?")


def test_characters_that_postgres_refuses_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the asker, of the model's answer, of its searches."""
    hostile = "\0\ud800"
    split = '{"searches": ["pool\\u0000 \\ud800 size"]}'
    use(monkeypatch, ScriptedModel([hostile, TRUE, hostile, "\0"], split=split, repair=hostile))
    answer, _ = ask(
        Mode.THINKING, question=f"How long {hostile}is a timeout?", searched_for=f"time{hostile}out"
    )
    assert "five seconds" in answer.text
    assert Answer.objects.get().state == "done"


def test_a_question_of_operators_alone_is_refused_before_the_first_event() -> None:
    with pytest.raises(EmptyQuestion):
        ask(question="-timeout")
    assert not Answer.objects.exists()
