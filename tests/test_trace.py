"""The ledger: told once, and its figures add up."""

from dataclasses import replace

from app.types import Degraded, Entry, Reason, Trace, Verdict


def entry(key: str, verdict: Verdict, source: str = "documents") -> Entry:
    """A candidate with this verdict."""
    return Entry(source, key, f"{key}.pdf#1", 0.5, 0.5, verdict)


FULL = Trace(
    Reason.OK,
    entries=(
        entry("a", Verdict.PACKED),
        entry("b", Verdict.DUPLICATE),
        entry("c", Verdict.PACKED),
        entry("d", Verdict.OVER_BUDGET),
        entry("e", Verdict.OVER_BUDGET),
        entry("m", Verdict.PACKED, "memories"),
    ),
    degraded=(Degraded("code", "timeout"),),
)


def test_the_packed_are_those_that_the_model_saw() -> None:
    """In the ledger's order."""
    assert [item.id for item in FULL.packed] == ["a", "c", "m"]


def test_context_was_used_only_if_all_went_well() -> None:
    """In every case but `ok` the model answers without context."""
    assert [reason for reason in Reason if Trace(reason).used] == [Reason.OK]


def test_the_notes_tell_what_was_taken_left_and_lost() -> None:
    """Counts by source, counts by verdict, and who did not answer."""
    assert FULL.notes() == [
        "Retrieved 2 passages from documents",
        "Retrieved 1 passages from memories",
        "Left out 1 candidates: duplicate",
        "Left out 2 candidates: over_budget",
        "code did not answer: timeout",
    ]


def test_the_notes_tell_what_the_sources_tell() -> None:
    """After who did not answer, before what was searched instead."""
    notes = Trace(
        Reason.EMPTY, degraded=(Degraded("code", "timeout"),), searched="a", told=("b gone",)
    ).notes()
    assert notes[1:] == ["code did not answer: timeout", "b gone", 'Searched with "a"']


def test_the_notes_tell_why_there_is_no_context() -> None:
    """Nothing packed: the reason stands first."""
    assert Trace(Reason.EMPTY).notes() == ["No context: empty"]


def test_reasons_stand_in_their_precedence() -> None:
    """As documented; then the bypasses of /rag and /vantage, and what only the record tells."""
    *told, greeting, unasked, kept = Reason
    assert (greeting, unasked, kept) == (Reason.GREETING, Reason.UNASKED, Reason.CANCELLED)
    assert [str(reason) for reason in told] == [
        "small_talk", "empty", "processing", "timeout", "unavailable", "skipped_short_query",
        "no_match", "ok",
    ]  # fmt: skip


def test_what_was_searched_instead_of_the_message_is_noted() -> None:
    """Of a follow-up; a message that was searched as it stands needs no word."""
    assert replace(FULL, searched="the pump and why?").notes()[-1] == 'Searched with "the pump and why?"'
    assert not any(note.startswith("Searched") for note in FULL.notes())


def test_a_project_tells_in_its_own_words_what_was_retrieved() -> None:
    """The project's notes replace the usual ones; what was left out of it is told all the same."""
    told = replace(FULL, told=("Retrieved 3 dreams via vector similarity search",)).notes()
    assert [note for note in told if note.startswith("Retrieved")] == [
        "Retrieved 3 dreams via vector similarity search"
    ]
    assert any(note.startswith("Left out") for note in told)
    nothing = Trace(Reason.EMPTY, told=("Retrieved 0 dreams via vector similarity search",))
    assert nothing.notes() == ["No context: empty", "Retrieved 0 dreams via vector similarity search"]
