"""The declared failure matrix: every dependency, every fault of it, every group of endpoints (DESIGN §6).

`python -m app.domain.failures > docs/failures.md` writes the page; tests/domain/test_failures.py holds that
the page is of today, that the named tests exist, and that nothing is missing. Times are seconds.
"""

import sys
from collections.abc import Mapping

from app.domain.embedding import EMBEDDING, FAULTS
from app.domain.engine import QDRANT
from app.domain.outages import CHROMA, DISK, OUTAGES, POSTGRES, REDIS
from app.domain.outcome import AS_CHAT, Case, Dependency, Failing, page
from app.domain.outside import OUTSIDE

RAG, VANTAGE = "tests/integration/test_rag.py::", "tests/integration/test_vantage.py::"

DECLARED: Mapping[Dependency, tuple[Failing, ...]] = {
    Dependency.MODEL: (
        *(Failing.DOWN, Failing.SILENT, Failing.WRONG, Failing.REFUSES, Failing.BUSY, Failing.BREAKS_OFF),
    ),
    Dependency.EMBEDDING: (Failing.DOWN, Failing.SILENT, Failing.WRONG, Failing.RESTARTS),
    Dependency.POSTGRES: (
        *(Failing.DOWN, Failing.SILENT, Failing.WRONG, Failing.RESTARTS, Failing.FULL, Failing.DAMAGED),
    ),
    Dependency.CHROMA: (Failing.DOWN, Failing.SILENT, Failing.WRONG),
    Dependency.QDRANT: (Failing.DOWN, Failing.SILENT, Failing.WRONG, Failing.REFUSES),
    Dependency.REDIS: (Failing.DOWN, Failing.SILENT, Failing.WRONG),
    Dependency.MEMORY_SERVICE: (Failing.DOWN, Failing.SILENT, Failing.WRONG, Failing.REFUSES),
    Dependency.RERANK: (Failing.DOWN, Failing.SILENT, Failing.WRONG, Failing.REFUSES),
    Dependency.MODERATION: (Failing.DOWN, Failing.SILENT, Failing.WRONG, Failing.REFUSES),
    Dependency.DISK: (Failing.FULL,),
    Dependency.CLIENT: (Failing.LEAVES, Failing.SILENT),
    Dependency.IBID: (Failing.KILLED,),
}
"""Every fault that has a case."""

QUESTION = (
    "the question, in `chat_log` and as an answer without a finish; the next request asks the model again"
)
CHATLESS = "503; the check `chat` has `ok: false` (tested with GET /models)"
JUDGED = "as ever; feedback that neither a rating nor a marker decides is neutral, decided by none"

MODEL = (
    Case(
        Dependency.MODEL,
        Failing.DOWN,
        "connections are refused, or it answers 5xx",
        chat="502 model-failed; once it has lasted 3 s and three in a row, at once and with Retry-After",
        rag=AS_CHAT,
        memories=JUDGED,
        health=CHATLESS,
        kept=QUESTION,
        tests=(
            f"{FAULTS}test_before_the_head_a_model_fault_is_a_status",
            f"{RAG}test_a_model_fault_is_a_status",
            f"{VANTAGE}test_a_model_fault_is_a_status",
            "tests/models/test_chat.py::test_a_model_that_is_down_is_not_waited_for",
            "tests/services/test_verdict.py::test_without_a_word_it_is_neutral",
            "tests/integration/test_health.py::test_without_its_chat_model_a_service_is_not_ready",
            "tests/models/test_probe.py::test_what_a_server_says_to_it",
        ),
    ),
    Case(
        Dependency.MODEL,
        Failing.SILENT,
        "no response head within CHAT_TIMEOUT_SECONDS",
        chat="504 model-timeout, or the 200 and `meta` after 2 s and then `event: error` with it; once it has"
        " lasted, 504 at once with Retry-After",
        rag=AS_CHAT,
        memories=f"{JUDGED}; after 4 s",
        health=f"{CHATLESS}, after 1.5 s",
        kept=QUESTION,
        tests=(
            f"{FAULTS}test_before_the_head_a_model_fault_is_a_status",
            f"{FAULTS}test_a_dead_model_is_not_waited_for",
            f"{FAULTS}test_a_model_at_fault_delays_nobody_else",
            "tests/services/test_chat.py::test_a_slow_head_does_not_hold_back_the_status",
        ),
    ),
    Case(
        Dependency.MODEL,
        Failing.WRONG,
        "200 with what is no stream of events, such as a web page",
        chat="502 model-failed",
        rag=AS_CHAT,
        memories=JUDGED,
        kept=QUESTION,
        tests=(f"{FAULTS}test_before_the_head_a_model_fault_is_a_status",),
    ),
    Case(
        Dependency.MODEL,
        Failing.REFUSES,
        "401, 403 or 404: a wrong key, address or name",
        chat="502 model-refused, every time; the breaker stays closed",
        rag=AS_CHAT,
        memories=JUDGED,
        health="503 where the key is refused (401); else 200: not every server lists its models",
        kept=QUESTION,
        tests=(
            f"{FAULTS}test_before_the_head_a_model_fault_is_a_status",
            "tests/models/test_chat.py::test_a_refusal_is_passed_on_every_time",
        ),
    ),
    Case(
        Dependency.MODEL,
        Failing.BUSY,
        "429",
        chat="503 model-busy with the server's Retry-After; the breaker stays closed",
        rag=AS_CHAT,
        memories=JUDGED,
        kept=QUESTION,
        tests=(
            f"{FAULTS}test_before_the_head_a_model_fault_is_a_status",
            "tests/models/test_chat.py::test_a_refusal_is_passed_on_every_time",
        ),
    ),
    Case(
        Dependency.MODEL,
        Failing.BREAKS_OFF,
        "in the middle of an answer it falls silent, closes, reports an error, sends garbage or never"
        " finishes",
        chat="what was said, then `event: error` (model-timeout after silence, else model-failed) and nothing"
        " more; whole answers: that status",
        rag=AS_CHAT,
        memories=JUDGED,
        kept="the question and what was said, without a finish; the next request is answered",
        tests=(
            f"{FAULTS}test_after_the_head_a_model_fault_is_an_event",
            f"{FAULTS}test_a_whole_answer_that_breaks_off_is_a_status",
            f"{FAULTS}test_a_model_at_fault_delays_nobody_else",
            "tests/models/test_chat.py::test_the_middle_of_an_answer_does_not_count",
        ),
    ),
)

CLIENT = (
    Case(
        Dependency.CLIENT,
        Failing.LEAVES,
        "its connection closes: during the search, before the head, in the middle of the answer",
        chat="embedding and model are let go within 0.5 s; with `on_disconnect: continue` the answer is"
        " finished",
        rag="embedding and model are let go within 0.5 s",
        writes="an upload that is not whole is dropped; one that is whole is read in all the same",
        kept="the question and what was said, as cancelled; the breakers stay closed",
        tests=(
            f"{FAULTS}test_a_client_that_leaves_lets_the_model_go",
            f"{RAG}test_a_client_that_leaves_ends_the_models_stream",
            f"{VANTAGE}test_a_client_that_leaves_ends_the_models_stream",
            f"{FAULTS}test_an_answer_may_be_finished_without_its_reader",
            f"{OUTAGES}test_a_client_that_leaves_during_the_search_leaves_its_question",
            "tests/models/test_chat.py::test_a_client_that_leaves_says_nothing_of_the_model",
            "tests/services/test_documents.py::test_a_client_that_leaves_does_not_stop_the_work",
        ),
    ),
    Case(
        Dependency.CLIENT,
        Failing.SILENT,
        "it reads nothing for 60 s, or stops sending in the middle of its request",
        chat="as if it had left; a request that stops: 408 request-timeout",
        rag=AS_CHAT,
        writes="408 request-timeout; nothing is kept",
        kept="as if it had left",
        tests=(
            "tests/api/test_stream.py::test_a_client_that_never_reads_is_given_up",
            "tests/api/test_limits.py::test_a_client_that_stops_in_the_middle_is_told_so",
        ),
    ),
)

IBID = (
    Case(
        Dependency.IBID,
        Failing.KILLED,
        "kill -9 of the service and all it started",
        chat="the connection breaks; after the start as ever",
        rag=AS_CHAT,
        writes="what was acknowledged is there: a 201 searchable, a 202 read in after the start",
        kept="every answer whose `done` was sent while Postgres was there; those that waited are lost",
        tests=(
            "tests/integration/test_crash.py::test_kill_9_of_everything_loses_nothing",
            "tests/integration/test_life.py::test_kill_9_loses_no_acknowledged_document",
        ),
    ),
)

TABLE: tuple[Case, ...] = (
    *MODEL,
    *EMBEDDING,
    *POSTGRES,
    *CHROMA,
    *QDRANT,
    *REDIS,
    *OUTSIDE,
    *DISK,
    *CLIENT,
    *IBID,
)
"""All of it."""

if __name__ == "__main__":
    sys.stdout.write(page(TABLE))
