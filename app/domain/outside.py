"""The part of the failure matrix (`failures.py`) that is about services which only a setting brings in: the
outside memory service (MEMORY_SERVICE_URL), the second stage's server (RERANK_URL), and the judge of messages
(VANTAGE_RISK_URL).

Without the setting there is none, and nothing of this happens. Times are seconds.
"""

from app.domain.outcome import Case, Dependency, Failing

CLIENT = "tests/clients/test_memory.py::"
WHOLE = "tests/integration/test_feedback.py::test_after_a_restart_with_an_outside_service"
STOOD_IN = "200: votes and activity as the built-in stores have them, degraded memory_service/"
REFUSED = (
    "votes, and feedback that would vote: 503 unavailable with Retry-After, nothing is kept; counts and"
    " activity as the built-in stores have them"
)
SHOWN = "200; its check has `ok: false`"

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

STAGE, WIRE = "tests/services/test_second.py::", "tests/models/test_rerank.py::"
SERVED = "tests/integration/test_second.py::"
ORDER = "200: the passages in the first stage's order, degraded rerank/"
FUSED = "sections of words and meaning as /api/chat; THN and DAAS as ever"
AGAIN = "the turn as ever; nothing is cached, so the next request is ranked again as soon as it is there"

RERANK = (
    Case(
        Dependency.RERANK,
        Failing.DOWN,
        "connections are refused, or it answers 5xx",
        chat=f"{ORDER}unavailable",
        contexts=FUSED,
        health=SHOWN,
        kept=AGAIN,
        tests=(
            f"{SERVED}test_an_ill_reranker_costs_its_order_alone",
            f"{STAGE}test_an_ill_server_leaves_the_first_stage",
            f"{WIRE}test_nobody_there_is_unavailable",
            f"{WIRE}test_the_probe_tells_who_is_not_well",
        ),
    ),
    Case(
        Dependency.RERANK,
        Failing.SILENT,
        "no scores within a third of RAG_TIMEOUT_SECONDS, or of what the sources have left of it",
        chat=f"{ORDER}timeout, after that time; once it has lasted 3 s and three in a row, at once: degraded"
        " rerank/unavailable",
        contexts=FUSED,
        health=f"{SHOWN}, after 1 s",
        kept=AGAIN,
        tests=(
            f"{SERVED}test_an_ill_reranker_costs_its_order_alone",
            f"{STAGE}test_a_hung_server_costs_its_share_and_then_nothing",
            f"{STAGE}test_a_server_that_was_left_no_time_has_not_failed",
        ),
    ),
    Case(
        Dependency.RERANK,
        Failing.WRONG,
        "no JSON, not one finite score for each text, more than 2 MiB, a redirect",
        chat=f"{ORDER}rerank",
        contexts=FUSED,
        kept=AGAIN,
        tests=(
            f"{STAGE}test_an_ill_server_leaves_the_first_stage",
            f"{WIRE}test_what_is_not_a_score_for_each_is_refused",
            f"{WIRE}test_law_anything_is_scores_or_unusable",
        ),
    ),
    Case(
        Dependency.RERANK,
        Failing.REFUSES,
        "4xx: a wrong key, path or model, too many requests",
        chat=f"{ORDER}rerank, every time; its breaker stays closed",
        contexts=FUSED,
        kept=AGAIN,
        tests=(
            f"{WIRE}test_a_fault_is_a_retrieval_fault",
            f"{STAGE}test_a_refusal_is_asked_again",
        ),
    ),
)

JUDGE, JUDGED = "tests/models/test_moderation.py::", "tests/integration/test_moderation.py::"
ALONE = "/rag/query as ever; /vantage/query: 200, decided by the text alone, degraded moderation/"

MODERATION = tuple(
    Case(
        Dependency.MODERATION,
        failing,
        means,
        rag=f"{ALONE}{outcome}",
        health="as ever" if failing in {Failing.WRONG, Failing.REFUSES} else SHOWN,
        tests=(f"{JUDGED}test_an_ill_one_costs_its_evidence_alone", f"{JUDGE}{test}"),
    )
    for failing, means, outcome, test in (
        (
            Failing.DOWN,
            "connections are refused, or it answers 5xx",
            "unavailable",
            "test_a_dead_one_is_not_waited_for",
        ),
        (
            Failing.SILENT,
            "no scores within 2 s",
            "timeout, after that time; once it has lasted 3 s and three in a row, at once: unavailable",
            "test_a_dead_one_is_not_waited_for",
        ),
        (
            Failing.WRONG,
            "no JSON, no scores in [0, 1], no verdict, more than 256 KiB",
            "moderation",
            "test_law_anything_is_scores_or_unusable",
        ),
        (
            Failing.REFUSES,
            "4xx: a wrong key, path or model, too many requests",
            "moderation, every time; its breaker stays closed",
            "test_a_fault_is_a_retrieval_fault",
        ),
    )
)

OUTSIDE = (*MEMORY_SERVICE, *RERANK, *MODERATION)
"""All of them."""
