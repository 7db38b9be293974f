"""What of a project's context is shown: in order, in budget, as it would be sent."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.budget import Meter
from app.domain.passage import Candidate, Scope
from app.domain.prompt import DOCUMENTS, Prompt
from app.domain.recipe import recipe_of
from app.domain.sections import PROJECT, sections
from app.domain.selection import Selection
from app.domain.trace import Reason, Verdict
from app.projects.gathered import Gathered, Item
from app.services.ask import Ask
from app.services.projected import TOKEN_BYTES, chosen, entries, fits, reason
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
    return Meter(Words().count, form=PROJECT)


def picked(
    found: Gathered, message: str = QUESTION, budget: int = 1_000, top_k: int | None = None
) -> Selection:
    """What is chosen of it."""
    ask = Ask(Scope(project="THN"), message, top_k=top_k)
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


def test_top_k_bounds_the_items() -> None:
    """The first ones, in their order."""
    selection = picked(gathered(*ROWS), top_k=2)
    assert verdicts(selection) == {"c1": "packed", "c2": "packed", "k1": "over_budget"}


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
    assert not fits([item], 10, Meter(never, form=PROJECT))


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
    """In CONTRACT's precedence."""
    assert reason(found, picked(found, message, budget)) is told


def test_a_replay_shows_rows_as_the_profile_does_today() -> None:
    """The very entry that the answer showed."""
    passage = replace(ROWS[0], fields={"title": "One", "tags": '["a", "b"]'})
    item = Item(Candidate(passage), "- **Title:** One\n- **Tags:** a, b")
    found = gathered(passage)
    found = replace(found, parts=(replace(found.parts[0], items=(item,)), *found.parts[1:]))
    then = picked(found).passages
    recipe = recipe_of(Prompt("S", "m", then, form=PROJECT), ranking=1, project="THN")
    raw = {(passage.source, passage.id): passage}
    assert entries(recipe, raw, len) == {("conversations", "c1"): then[0]}


def test_what_was_found_by_search_is_left_as_it_is() -> None:
    """Its text is the passage's own."""
    recipe = recipe_of(Prompt("S", "m", form=DOCUMENTS), ranking=1, project="THN")
    raw = {("conversations", "c1"): ROWS[0]}
    assert entries(recipe, raw, len) == raw
