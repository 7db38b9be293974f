"""The form of a case, and how the page shows it."""

from app.domain.outcome import AS_CHAT, AS_EVER, SHOWN, Case, Dependency, Failing, page

CASE = Case(
    Dependency.REDIS,
    Failing.DOWN,
    "nobody listens",
    chat="200 and whole",
    health="200",
    tests=("tests/a.py::test_b", "tests/c.py::test_d"),
)


def test_a_case_is_told_with_its_tests() -> None:
    """What differs line by line, what does not in one, then who holds it."""
    told = page([CASE]).split("## ", 1)[1]
    assert told == (
        "Redis (CACHE_URL): down\n\nNobody listens.\n\n| | |\n|---|---|\n"
        "| chat | 200 and whole |\n| /rag/query, /vantage/query | as /api/chat |\n| readiness | 200 |\n"
        "| project contexts, memories, corpus, feedback, /vantage cards and facts, writing documents,"
        " reading documents, sessions, answers, the record | as ever |\n"
        "\nHeld by `tests/a.py::test_b`, `tests/c.py::test_d`.\n"
    )


def test_what_is_not_said_is_as_ever() -> None:
    """A fault that concerns chat alone says so of each group; /rag/query goes with chat."""
    case = Case(Dependency.REDIS, Failing.DOWN, "nobody listens")
    assert {getattr(case, name) for name in SHOWN if name != "rag"} == {AS_EVER}
    assert case.rag == AS_CHAT
