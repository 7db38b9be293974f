"""The part of the failure matrix (`failures.py`) that is about Qdrant, embedded or not. Times are seconds.

Documents are not in it, so /api/chat loses by it only the memories and texts that a request names as sources.
"""

from app.domain.outcome import Case, Dependency, Failing

CLIENT = "tests/clients/test_qdrant_server.py::"
GUARDED = "tests/clients/test_qdrant.py::"
RAG = "tests/integration/test_rag.py::"
LACKING = (
    "200 from what the record has, without what other tools wrote to a server: degraded memories and corpus, "
)
CHAT = "as ever; memories and corpus, where the request names them, as in /rag/query"
FOLLOWS = "as ever: the record has them, and Qdrant takes them over when it is back"
SHOWN = "200; the check `qdrant` has `ok: false`"
ANSWERS = "as ever; a replay of what an older tool's points were used for: 503 unavailable"

QDRANT = (
    Case(
        Dependency.QDRANT,
        Failing.DOWN,
        "connections are refused, or it answers 5xx; the embedded engine's process dies, and the"
        " next call starts another",
        chat=CHAT,
        rag=f"{LACKING}unavailable",
        memories=FOLLOWS,
        answers=ANSWERS,
        health=SHOWN,
        kept="as ever; changes wait in the outbox, and are taken over when it is back",
        tests=(
            f"{RAG}test_a_qdrant_that_is_down_costs_the_same",
            f"{RAG}test_a_qdrant_that_fails_costs_what_other_tools_wrote",
            f"{CLIENT}test_a_server_that_is_away_comes_back",
            f"{GUARDED}test_a_server_need_not_be_there_yet",
            "tests/clients/test_qdrant_process.py::test_a_child_that_is_killed_is_replaced_at_the_next_call",
            "tests/clients/test_edge.py::test_a_full_disk_puts_nothing_aside",
            "tests/stores/test_outbox.py::test_an_engine_that_fails_is_left_alone_and_comes_back",
            "tests/integration/test_replay.py::test_a_store_that_is_down_is_no_erasure",
        ),
    ),
    Case(
        Dependency.QDRANT,
        Failing.SILENT,
        "it accepts and does not answer, or the embedded engine's process hangs: it is killed after 60 s",
        chat=CHAT,
        rag=f"{LACKING}timeout, after a quarter of RAG_TIMEOUT_SECONDS; once it has lasted 3 s and three in a"
        " row, at once: unavailable",
        memories=FOLLOWS,
        answers=f"{ANSWERS}, after 4 s",
        health=f"{SHOWN}, after 2 s",
        tests=(
            f"{RAG}test_a_qdrant_that_fails_costs_what_other_tools_wrote",
            f"{RAG}test_a_slow_qdrant_within_the_deadline_is_no_fault",
            f"{GUARDED}test_a_server_that_hangs_costs_a_deadline_and_then_nothing",
            "tests/clients/test_qdrant_process.py::test_many_at_once_are_answered",
            "tests/clients/test_qdrant_process.py::test_a_call_that_hangs_is_lost_and_so_is_its_child",
            "tests/stores/test_outbox.py::test_an_engine_that_fails_is_left_alone_and_comes_back",
        ),
    ),
    Case(
        Dependency.QDRANT,
        Failing.WRONG,
        "no JSON, an answer cut off; or the embedded one's files are damaged: they are put aside, and the"
        " collection is written anew from the record",
        chat=CHAT,
        rag=f"{LACKING}unavailable",
        memories=FOLLOWS,
        health=SHOWN,
        tests=(
            f"{RAG}test_a_qdrant_that_fails_costs_what_other_tools_wrote",
            f"{CLIENT}test_faults_become_ours",
            "tests/clients/test_edge.py::test_files_that_cannot_be_read_are_put_aside",
            "tests/clients/test_qdrant_process.py::test_a_collection_that_keeps_crashing_it_is_put_aside",
            "tests/stores/test_outbox.py::test_an_engine_that_lacks_rows_is_refilled",
        ),
    ),
    Case(
        Dependency.QDRANT,
        Failing.REFUSES,
        "a wrong key; a collection that is gone, of another vector size or distance; points without text",
        chat=CHAT,
        rag="200: what cannot be searched is passed over with a note, the others are searched as ever; a"
        " wrong key: as down, every time. Its breaker stays closed",
        memories="as ever, a missing collection is made; a wrong key: as down",
        answers="as ever; a wrong key: as down",
        tests=(
            f"{RAG}test_vectors_of_another_size_are_passed_over_with_a_note",
            f"{RAG}test_points_without_text_are_passed_over_with_a_note",
            f"{RAG}test_a_collection_deleted_meanwhile_is_no_fault_of_the_others",
            f"{RAG}test_a_collection_of_ours_that_is_deleted_costs_nothing",
            f"{CLIENT}test_the_key_is_sent",
            f"{GUARDED}test_what_is_refused_is_no_failure",
        ),
    ),
)
