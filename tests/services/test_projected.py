"""What of a project's context is shown: in order, in budget, as it would be sent."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.answer import DOCUMENT_FORM, Prompt
from app.answering.budget import Meter, Selection
from app.answering.projects import Gathered, Item
from app.answering.prompt import PROJECT_FORM, sections
from app.answering.question import Question
from app.answering.replay import recipe_of
from app.services.projects import TOKEN_BYTES, chosen, entries, fits, reason
from app.types import Candidate, Reason, Scope, Verdict
from tests.fakes.answering import Words
from tests.fakes.projecting import gathered, row

QUESTION = "why is the sky blue today"
ROWS = (
    row("conversations", "c1", "- **Title:** One", title="One"),
    row("conversations", "c2", "- **Title:** Two two two two two two two", title="Two"),
    row("code", "k1", "**File:** a.py", 0.1, title="a"),
)


def meter() -> Meter:
    """Counts words."""
    return Meter(Words().count, form=PROJECT_FORM)


def picked(
    found: Gathered, message: str = QUESTION, budget: int = 1_000, top_k: int | None = None
) -> Selection:
    """What is chosen of it."""
    ask = Question(Scope(project="THN"), message, top_k=top_k)
    return chosen(ask, found, budget, 0.2, meter())


def verdicts(selection: Selection) -> dict[str, str]:
    """By id."""
    return {entry.id: str(entry.verdict) for entry in selection.entries}


def test_all_that_fits_is_shown_as_the_project_shows_it() -> None:
    """The block is the project's own text to the byte, and the labels behind it."""
    found = gathered(*ROWS)
    selection = picked(found)
    assert [passage.id for passage in selection.passages] == ["c1", "c2", "k1"]
    labels = "[conversation#c1] One\n[conversation#c2] Two\n[main.py#k1] a"
    assert sections(selection.passages) == f"{found.context}\n\n{labels}"


def test_an_item_that_is_too_long_is_passed_over() -> None:
    """What is behind it is shown; the block is never over the budget."""
    budget = meter()(sections(picked(gathered(ROWS[0], ROWS[2])).passages))
    selection = picked(gathered(*ROWS), budget=budget)
    assert [passage.id for passage in selection.passages] == ["c1", "k1"]
    assert verdicts(selection) == {"c1": "packed", "k1": "packed", "c2": "over_budget"}


def test_top_k_is_shared_between_the_sections() -> None:
    """The first of each, then the second of each; shown in the sections' order."""
    code = [row("code", f"k{n}", f"**File:** {n}.py", 0.9) for n in range(1, 6)]
    talks = [row("conversations", f"c{n}", f"- **Title:** {n}") for n in range(1, 6)]
    selection = picked(gathered(*talks, *code), top_k=5)
    assert [passage.id for passage in selection.passages] == ["c1", "c2", "c3", "k1", "k2"]
    assert [entry.id for entry in selection.entries[5:]] == ["c4", "c5", "k3", "k4", "k5"]
    selection = picked(gathered(talks[0], *code), top_k=4)
    assert [passage.id for passage in selection.passages] == ["c1", "k1", "k2", "k3"]


def test_a_small_budget_is_shared_between_the_sections() -> None:
    """Code, which the message chose, has its part; what is left is filled with what still fits."""
    talks = [row("conversations", f"c{n}", "word " * 10) for n in range(1, 6)]
    code = [row("code", "k1", "word " * 10, 0.9), row("code", "k2", "word " * 100, 0.8)]
    shown = [*talks[:4], code[0]]
    budget = meter()(sections(picked(gathered(*shown)).passages))
    selection = picked(gathered(*talks, *code), budget=budget)
    assert [passage.id for passage in selection.passages] == ["c1", "c2", "c3", "c4", "k1"]


@pytest.mark.parametrize(
    ("similarity", "score"),
    [(0.25, 0.25), (-0.5, 0.0), (1.0000001, 1.0), (None, 0.0)],
)
def test_the_score_of_what_cosine_chose_is_its_similarity(similarity: float | None, score: float) -> None:
    """From 0 to 1, of what is shown and of what is not; time gives none."""
    near = replace(ROWS[2], similarity=similarity)
    found = gathered(ROWS[0], near)
    left = replace(found.parts[1], left=((Candidate(replace(near, id="k2")), Verdict.BELOW_THRESHOLD),))
    selection = picked(replace(found, parts=(found.parts[0], left)))
    assert {entry.id: entry.score for entry in selection.entries} == {"c1": 0.0, "k1": score, "k2": score}
    assert [passage.score for passage in selection.passages] == [0.0, score]


@given(
    st.lists(st.tuples(st.sampled_from(["conversations", "code"]), st.integers(1, 30)), max_size=8),
    st.integers(0, 90),
    st.integers(1, 9) | st.none(),
)
def test_the_block_is_never_over_and_nothing_that_fits_is_left(
    sizes: list[tuple[str, int]], budget: int, top_k: int | None
) -> None:
    """Greedy, in order."""
    rows = [row(source, f"r{n}", "word " * size) for n, (source, size) in enumerate(sizes)]
    selection = picked(gathered(*rows), budget=budget, top_k=top_k)
    packed = selection.passages
    assert not packed or meter()(sections(packed)) <= budget
    assert top_k is None or len(packed) <= top_k
    left = [entry.id for entry in selection.entries if entry.verdict is Verdict.OVER_BUDGET]
    if top_k is None or len(packed) < top_k:
        shown = [item for item in gathered(*rows).items if item.passage.id not in left]
        for key in left:
            more = [item for item in gathered(*rows).items if item in shown or item.passage.id == key]
            whole = picked(gathered(*[item.passage for item in more])).passages
            assert meter()(sections(whole)) > budget


def test_what_is_hopelessly_long_is_not_even_counted() -> None:
    """No token has so many bytes."""

    def never(text: str) -> int:
        raise AssertionError("counted")

    item = Candidate(row("code", "k", "x" * (TOKEN_BYTES * 10 + 1)))
    assert not fits([item], 10, Meter(never, form=PROJECT_FORM))


def test_of_a_short_message_only_sections_by_time_are_shown() -> None:
    """They never looked at it; what was looked for resembles nothing, and is skipped."""
    selection = picked(gathered(*ROWS), "hi")
    assert verdicts(selection) == {"c1": "packed", "c2": "packed", "k1": "skipped"}
    assert reason(gathered(*ROWS), selection) is Reason.OK


def test_a_short_message_that_resembles_something_is_answered_with_it() -> None:
    """As everywhere: the rule needs both."""
    near = replace(ROWS[2], similarity=0.7)
    assert verdicts(picked(gathered(near), "a.py?")) == {"k1": "packed"}


def test_a_row_of_two_sections_is_shown_once() -> None:
    """Where it comes first."""
    found = gathered(ROWS[0])
    twice = replace(found, parts=(found.parts[0], replace(found.parts[1], items=found.parts[0].items)))
    selection = picked(twice)
    assert [passage.id for passage in selection.passages] == ["c1"]
    assert [str(entry.verdict) for entry in selection.entries] == ["packed", "duplicate"]


def test_what_the_project_left_out_stands_in_the_ledger() -> None:
    """With its verdict."""
    found = gathered(ROWS[0])
    part = replace(found.parts[0], left=((Candidate(ROWS[1]), Verdict.BELOW_THRESHOLD),))
    selection = picked(replace(found, parts=(part, *found.parts[1:])))
    assert verdicts(selection) == {"c1": "packed", "c2": "below_threshold"}


@pytest.mark.parametrize(
    ("found", "message", "budget", "told"),
    [
        pytest.param(gathered(), QUESTION, 100, Reason.EMPTY, id="empty"),
        pytest.param(gathered(reason=Reason.TIMEOUT), QUESTION, 100, Reason.TIMEOUT, id="late"),
        pytest.param(gathered(ROWS[2]), "hi", 100, Reason.SKIPPED, id="short"),
        pytest.param(gathered(ROWS[2]), QUESTION, 1, Reason.NO_MATCH, id="no room"),
        pytest.param(gathered(ROWS[2]), QUESTION, 100, Reason.OK, id="ok"),
    ],
)
def test_the_reason_is_told(found: Gathered, message: str, budget: int, told: Reason) -> None:
    """In the precedence of `rag.reason`."""
    assert reason(found, picked(found, message, budget)) is told


def test_a_replay_shows_rows_as_the_profile_does_today() -> None:
    """The very entry that the answer showed."""
    passage = replace(ROWS[0], fields={"title": "One", "tags": '["a", "b"]'})
    item = Item(Candidate(passage), "- **Title:** One\n- **Tags:** a, b")
    found = gathered(passage)
    found = replace(found, parts=(replace(found.parts[0], items=(item,)), *found.parts[1:]))
    then = picked(found).passages
    recipe = recipe_of(Prompt("S", "m", then, form=PROJECT_FORM), ranking=1, project="THN")
    raw = {(passage.source, passage.id): passage}
    assert entries(recipe, raw, len) == {("conversations", "c1"): then[0]}


def test_what_was_found_by_search_is_left_as_it_is() -> None:
    """Its text is the passage's own."""
    recipe = recipe_of(Prompt("S", "m", form=DOCUMENT_FORM), ranking=1, project="THN")
    raw = {("conversations", "c1"): ROWS[0]}
    assert entries(recipe, raw, len) == raw
