"""The part of the failure matrix (`failures.py`) that is about the outside memory service.

Without MEMORY_SERVICE_URL there is none, and nothing of this happens. Times are seconds.
"""

from app.domain.outcome import Case, Dependency, Failing

CLIENT = "tests/clients/test_memory.py::"
WHOLE = "tests/integration/test_feedback.py::test_after_a_restart_with_an_outside_service"
STOOD_IN = "200: votes and activity as the built-in stores have them, degraded memory_service/"
REFUSED = (
    "votes, and feedback that would vote: 503 unavailable with Retry-After, nothing is kept; counts and"
    " activity as the built-in stores have them"
)
SHOWN = "200; its line says it is away"

MEMORY_SERVICE = (
    Case(
        Dependency.MEMORY_SERVICE,
        Failing.DOWN,
        "connections are refused, or it answers 5xx",
        rag=f"{STOOD_IN}unavailable",
        memories=REFUSED,
        health=SHOWN,
        tests=(
            WHOLE,
            f"{CLIENT}test_one_that_is_down_is_stood_in_for",
            f"{CLIENT}test_a_vote_it_does_not_take_is_not_kept",
        ),
    ),
    Case(
        Dependency.MEMORY_SERVICE,
        Failing.SILENT,
        "no whole answer within 1 s",
        rag=f"{STOOD_IN}timeout, after 1 s beside the search and 1 s after it; once it has lasted 3 s and"
        " three in a row, at once: degraded memory_service/unavailable",
        memories=f"{REFUSED}; after 1 s each, then at once",
        health=f"{SHOWN}, after 1 s",
        tests=(
            f"{CLIENT}test_an_ill_one_is_stood_in_for",
            f"{CLIENT}test_a_dead_one_is_not_waited_for",
        ),
    ),
    Case(
        Dependency.MEMORY_SERVICE,
        Failing.WRONG,
        "no JSON, another shape, more than 256 KiB, a redirect",
        rag=f"{STOOD_IN}unavailable",
        memories="counts and activity as the built-in stores have them; votes as ever: any 2xx is a yes",
        tests=(
            f"{CLIENT}test_an_ill_one_is_stood_in_for",
            "tests/clients/test_heard.py::test_law_anything_is_read_or_no_answer",
        ),
    ),
    Case(
        Dependency.MEMORY_SERVICE,
        Failing.REFUSES,
        "4xx",
        rag=f"{STOOD_IN}unavailable, every time; its breaker stays closed",
        memories=REFUSED,
        tests=(
            f"{CLIENT}test_an_ill_one_is_stood_in_for",
            f"{CLIENT}test_a_dead_one_is_not_waited_for",
            f"{CLIENT}test_a_vote_it_does_not_take_is_not_kept",
        ),
    ),
)
