"""The part of the failure matrix (`failures.py`) that is about embeddings: a server's, or the bundled model's
process. Times are seconds.
"""

from app.domain.outages import OUTAGES
from app.domain.outcome import AS_CHAT, Case, Dependency, Failing

FAULTS = "tests/integration/test_faults.py::"
JOBS = "202 once `wait` is over: bytes and job are kept, and the job tries again for about an hour"
WORDS = "the turn as ever; nothing is cached, so the next request has meaning again as soon as it is there"
BARE = "200: THN its conversations alone, DAAS nothing, others by words; the notes say so"
SHOWN = "200; the check `embedding` has `ok: false`"
EMBEDDING = (
    Case(
        Dependency.EMBEDDING,
        Failing.DOWN,
        "connections are refused, or it answers 5xx",
        chat="words alone are searched; degraded embedding/unavailable",
        rag=AS_CHAT,
        contexts=BARE,
        writes=JOBS,
        health=SHOWN,
        kept=WORDS,
        tests=(
            f"{OUTAGES}test_a_wrong_embedding_costs_the_meaning_only",
            "tests/services/test_projects.py::test_without_an_embedding_thn_shows_conversations",
            "tests/models/test_embeddings.py::test_nobody_there_is_a_retrieval_fault",
            "tests/services/test_ingest.py::test_what_does_not_answer_is_tried_again",
        ),
    ),
    Case(
        Dependency.EMBEDDING,
        Failing.SILENT,
        "no vector within three quarters of RAG_TIMEOUT_SECONDS; the bundled model's process, if it has said"
        " no word for 15 s, is ended, and the next question starts another",
        chat="words alone, after that time; degraded embedding/timeout. Once it has lasted 3 s and three in a"
        " row, at once: degraded embedding/unavailable",
        rag=AS_CHAT,
        contexts=BARE,
        writes=JOBS,
        health=f"{SHOWN}, after 1.5 s",
        kept=WORDS,
        tests=(
            f"{OUTAGES}test_a_hung_embedding_server_costs_the_first_requests_their_deadline",
            f"{FAULTS}test_the_embedder_s_process_silent_costs_the_meaning_until_it_answers",
            "tests/models/test_apart.py::test_a_child_that_hangs_is_ended",
            "tests/services/test_projects.py::test_without_an_embedding_thn_shows_conversations",
            "tests/services/test_retrieval.py::test_a_question_asked_again_is_not_embedded_again",
            "tests/integration/test_outages.py::test_texts_that_the_server_fails_on_cost_nobody_else",
            "tests/models/test_embeddings.py::test_clients_that_leave_do_not_close_it_to_others",
            "tests/services/test_ingest.py::test_what_does_not_answer_is_tried_again",
        ),
    ),
    Case(
        Dependency.EMBEDDING,
        Failing.WRONG,
        "no JSON, a wrong count or dimension, vectors without a direction, or 4xx",
        chat="words alone are searched; degraded embedding/embedding",
        rag=AS_CHAT,
        contexts=BARE,
        writes=JOBS,
        kept=WORDS,
        tests=(
            f"{OUTAGES}test_a_wrong_embedding_costs_the_meaning_only",
            "tests/models/test_embeddings.py::test_wrong_answers_are_not_silence",
            "tests/services/test_ingest.py::test_too_few_vectors_are_a_fault_of_the_model",
        ),
    ),
    Case(
        Dependency.EMBEDDING,
        Failing.RESTARTS,
        "the bundled model's process is killed: the next question starts another, in about half a second",
        chat="200 all the while; what was under way is asked of the next one. Killed again by the same texts:"
        " words alone, degraded embedding/embedding",
        rag=AS_CHAT,
        contexts="200 all the while",
        writes="as ever, that much later",
        kept="as ever",
        tests=(
            f"{FAULTS}test_the_embedder_s_process_killed_costs_no_answer_its_meaning",
            "tests/models/test_apart.py::test_a_child_that_dies_is_followed_by_another",
            "tests/models/test_apart.py::test_a_text_that_kills_twice_fails_and_the_next_is_embedded",
            "tests/test_process.py::test_a_start_that_failed_is_told_for_a_while_and_then_tried_again",
        ),
    ),
)
