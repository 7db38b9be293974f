"""The form of a case, and how the page shows it."""

from app.domain.outcome import AS_EVER, ELSEWHERE, SHOWN, Case, Dependency, Failing, page

CASE = Case(
    of=Dependency.REDIS,
    failing=Failing.DOWN,
    means="nobody listens",
    chat="200 and whole",
    **{**ELSEWHERE, "health": "200"},
    kept="as ever",
    tests=("tests/a.py::test_b", "tests/c.py::test_d"),
)


def test_a_case_is_told_with_its_tests() -> None:
    """What differs line by line, what does not in one, then who holds it."""
    told = page([CASE]).split("## ", 1)[1]
    assert told == (
        "Redis (CACHE_URL): down\n\nNobody listens.\n\n| | |\n|---|---|\n"
        "| chat | 200 and whole |\n| readiness | 200 |\n"
        "| writing documents, reading documents, sessions, answers, the record | as ever |\n"
        "\nHeld by `tests/a.py::test_b`, `tests/c.py::test_d`.\n"
    )


def test_elsewhere_is_everything_but_chat_and_what_is_kept() -> None:
    """So that a fault that concerns chat alone still says so of each."""
    assert {*ELSEWHERE, "chat", "kept"} == set(SHOWN)
    assert set(ELSEWHERE.values()) == {AS_EVER}
