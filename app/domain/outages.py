"""The part of the failure matrix (`failures.py`) that is about stores: Postgres, Chroma, Redis, the disk.

Times are seconds.
"""

from app.domain.outcome import AS_EVER, Case, Dependency, Failing

OUTAGES = "tests/integration/test_outages.py::"
SERVERS = "tests/integration/test_servers.py::"
DAMAGE = "tests/integration/test_damage.py::"
GONE = "503 unavailable with Retry-After"
BROKEN = "500 damaged where that part is needed"
READY = "503, and which store is away"
SHOWN = "200; its check has `ok: false`"

POSTGRES = (
    Case(
        Dependency.POSTGRES,
        Failing.DOWN,
        "connections are refused or break",
        chat="200 for keys seen within 60 s (then 503, as for others): no documents, no history, `rag.reason`"
        " unavailable, degraded documents/unavailable and postgres/unavailable; with a project no context and"
        " no knowledge: degraded conversations, code and knowledge, each unavailable",
        rag="200 for the same keys: degraded memories, corpus, cards and temporal, each unavailable; of"
        " /vantage/query, where they are wanted, postgres (the thread) and vantage_cards too",
        contexts="200 for the same keys: an empty context, THN without a note, the others with one",
        memories=f"{GONE}; nothing is kept",
        cards=f"{GONE}; nothing is kept",
        writes=f"{GONE}; nothing is kept",
        reads=GONE,
        sessions=GONE,
        answers=f"{GONE}; those that wait to be written are shown",
        health=READY,
        kept="answers and turns wait, 1,000 at most (overflow is counted; /readyz tells both), and are"
        " written in order when it is back",
        tests=(
            "tests/stores/test_cards.py::test_postgres_away_is_told",
            "tests/api/test_cards.py::test_a_store_that_is_away_is_told",
            f"{OUTAGES}test_postgres_gone_leaves_the_answer",
            "tests/clients/test_pool.py::test_nobody_waits_for_a_postgres_that_is_down",
            "tests/integration/test_vantage.py::test_traces_are_written_when_postgres_is_back",
            "tests/stores/test_keys.py::test_a_key_seen_lately_bridges_an_outage",
            "tests/services/test_recorder.py::test_a_full_backlog_drops_the_oldest_and_counts",
            "tests/clients/test_pool.py::test_what_answers_need_counts",
        ),
    ),
    Case(
        Dependency.POSTGRES,
        Failing.SILENT,
        "statements do not end, or no connection is free",
        chat="as down, with the reason timeout, after RAG_TIMEOUT_SECONDS (at most 2 s of them for the"
        " history, of a follow-up a third; before them 1 s for the key); the end of the answer waits 2 s"
        " for its record. Once it has lasted 3 s and three in a row: as down",
        rag="as down, with the reason timeout, after RAG_TIMEOUT_SECONDS; once it has lasted: as down",
        contexts="as down, after RAG_TIMEOUT_SECONDS; once it has lasted: at once",
        memories="as documents",
        cards=f"{GONE}, as soon as for documents",
        writes=f"{GONE}, after 5 s (no connection) to 15 s (a statement); at once while answers have found it"
        " so (their breaker is open)",
        reads=f"{GONE}, as soon",
        sessions=f"{GONE}, as soon",
        answers=f"{GONE}, at once while the breaker is open",
        health=f"{READY}, after 2 s",
        kept="as down",
        tests=(
            "tests/clients/test_pool.py::test_a_deadline_counts_and_a_departure_does_not",
            f"{OUTAGES}test_postgres_hung_costs_the_first_requests_their_deadline",
            "tests/services/test_chat.py::test_history_and_search_share_one_deadline",
            "tests/services/test_chat.py::test_a_project_at_fault_costs_its_context_not_the_answer",
            "tests/clients/test_pool.py::test_other_work_does_not_count",
            "tests/clients/test_pool.py::test_a_hung_server_does_not_hold_up_who_gave_up",
            "tests/stores/test_keys.py::test_a_silent_database_holds_up_one_request",
            "tests/services/test_recorder.py::test_a_store_that_hangs_costs_a_bounded_wait",
        ),
    ),
    Case(
        Dependency.POSTGRES,
        Failing.WRONG,
        "it answers, and refuses a statement: a missing right, another tool's column that must not be null",
        chat="200: what cannot be read is lacking, degraded documents/unavailable or postgres/unavailable;"
        " the breaker stays closed",
        rag="200: what cannot be read is lacking, and named in degraded; the breaker stays closed",
        contexts="as down",
        memories="500 internal; nothing is kept",
        cards="500 internal; nothing is kept",
        writes="500 internal; nothing is kept",
        reads="500 internal",
        sessions="500 internal",
        answers="500 rejected; those that wait to be written are shown",
        kept="an answer that is refused is tried three times, then dropped and counted; those behind it are"
        " written. The log names the SQLSTATE",
        tests=(
            "tests/integration/test_refused.py::test_a_refused_record_costs_no_answer_and_no_other_record",
            "tests/integration/test_refused.py::test_what_cannot_be_read_is_degraded",
            "tests/services/test_recorder.py::test_what_the_store_will_not_take_holds_up_nobody",
            "tests/clients/test_pool.py::test_what_does_not_mean_down",
        ),
    ),
    Case(
        Dependency.POSTGRES,
        Failing.RESTARTS,
        "the embedded server is killed: its supervisor has it back in about half a second",
        chat="200 all the while; at worst degraded documents and postgres, unavailable or timeout",
        rag="200 all the while; at worst degraded as when it is down",
        contexts="200 all the while; at worst empty",
        memories=f"{GONE} until it is back; what was acknowledged is there",
        cards=f"{GONE} until it is back; what was acknowledged is there",
        writes=f"{GONE} until it is back; what was acknowledged is there",
        reads=f"{GONE} until it is back",
        sessions=f"{GONE} until it is back",
        answers=f"{GONE} until it is back",
        health="503 until it is back",
        kept="every turn, in order; the breaker does not open for so little",
        tests=(
            "tests/integration/test_faults.py::test_postgres_killed_in_the_middle_costs_no_answer_and_no_turn",
            "tests/clients/test_cluster.py::test_killed_server_comes_back",
        ),
    ),
    Case(
        Dependency.POSTGRES,
        Failing.FULL,
        "its disk has no room: of the embedded one less than 24 MiB (its log takes 16 at a time), for"
        " documents 64 MiB",
        chat="200, documents and history as ever",
        rag="200, memories and corpus as ever; the words of `remember` are not kept: remembered failed",
        memories="507 no-room; nothing is kept",
        cards="as ever; writing and removing: 507 no-room",
        writes="507 no-room; nothing is kept. Once there is room the same upload is taken",
        sessions="as ever; removing: 507 no-room",
        kept="answers and turns wait as when it is down; the breaker stays closed, since it still reads",
        tests=(
            "tests/integration/test_disk.py::test_a_full_disk_is_told_and_keeps_nothing",
            "tests/integration/test_refused.py::test_an_answer_log_without_room_takes_nothing_away",
            "tests/clients/test_pool.py::test_what_does_not_mean_down",
        ),
    ),
    Case(
        Dependency.POSTGRES,
        Failing.DAMAGED,
        "a page with a wrong checksum, a broken index, a missing file of the embedded one. A start that reads"
        " it ends with one line; `ibid doctor` names the table or index and says what to do",
        chat="200: what cannot be read is lacking, degraded documents/unavailable or postgres/unavailable;"
        " the breaker stays closed",
        rag="200: what cannot be read is lacking, and named in degraded; the breaker stays closed",
        contexts="as down",
        memories=f"{BROKEN}; nothing is kept",
        cards=f"{BROKEN}; nothing is kept",
        writes=f"{BROKEN}; nothing is kept",
        reads=BROKEN,
        sessions=BROKEN,
        answers=f"{BROKEN}; those that wait to be written are shown",
        kept="an answer that cannot be written is tried three times, then dropped and counted; those behind"
        " it are written. The log names the file or index; repairs and the queue look again after minutes",
        tests=(
            f"{DAMAGE}test_a_start_that_reads_what_is_damaged_says_so",
            f"{DAMAGE}test_a_catalog_that_is_damaged_is_told_at_once",
            f"{DAMAGE}test_a_damaged_index_costs_what_needs_it_and_is_made_anew",
            f"{DAMAGE}test_an_answer_log_that_is_damaged_costs_no_answer",
            f"{DAMAGE}test_pages_are_given_up_where_there_is_no_backup",
            "tests/clients/test_faults.py::test_a_damaged_file_is_told_apart_and_logged",
        ),
    ),
)

RECORD = "200, the same answer: vectors come from Postgres"
CHROMA = (
    Case(
        Dependency.CHROMA,
        Failing.DOWN,
        "the server is gone, or the embedded one's process died (the next call starts another), or takes more"
        " than a minute to open its folder: the service starts without it, and uses it once it has opened",
        chat=f"{RECORD}. Parts too large to be searched exactly are found by words alone: degraded"
        " documents/unavailable",
        rag=AS_EVER,
        health=SHOWN,
        kept="as ever; changes wait in the outbox, and are taken over when it is back",
        tests=(
            f"{SERVERS}test_a_server_that_is_killed_costs_no_answer_and_is_used_again_when_it_is_back",
            "tests/sources/test_documents.py::test_chroma_down_costs_nothing_while_vectors_are_in_memory",
            "tests/clients/test_chroma_process.py::test_a_child_that_is_killed_is_started_anew_at_the_next_call",
            "tests/clients/test_chroma.py::test_a_start_does_not_wait_for_a_folder_that_opens_slowly",
            "tests/stores/test_outbox.py::test_an_engine_that_fails_is_left_alone_and_comes_back",
        ),
    ),
    Case(
        Dependency.CHROMA,
        Failing.SILENT,
        "it accepts and does not answer",
        chat=f"{RECORD}. Parts too large to be searched exactly: after 4 s, at once after three in a row",
        rag=AS_EVER,
        health=f"{SHOWN}, after 2 s",
        tests=(
            f"{SERVERS}test_a_server_that_hangs_costs_the_first_their_patience_and_not_everyone",
            f"{OUTAGES}test_a_hung_chroma_delays_nobody_else",
            "tests/clients/test_chroma.py::test_what_hangs_is_left_alone_for_a_while",
        ),
    ),
    Case(
        Dependency.CHROMA,
        Failing.WRONG,
        "its folder is damaged: files cut, noise, another program's",
        chat=f"{RECORD}; the folder is put aside and filled anew",
        rag=AS_EVER,
        tests=("tests/clients/test_chroma_process.py::test_a_folder_that_cannot_be_used_is_moved_aside",),
    ),
)

REDIS = (
    Case(
        Dependency.REDIS,
        Failing.DOWN,
        "connections are refused or break",
        chat="200 and whole: results are shared no more, each replica keeps its own",
        health=SHOWN,
        tests=(
            f"{OUTAGES}test_redis_costs_nothing",
            "tests/integration/test_replicas.py::test_without_the_cache_both_answer_as_before",
            "tests/clients/test_redis.py::test_a_server_that_is_gone_is_a_miss_and_comes_back",
            "tests/api/test_health.py::test_one_that_answers_can_do_without_is_told_and_no_more",
        ),
    ),
    Case(
        Dependency.REDIS,
        Failing.SILENT,
        "it accepts and does not answer",
        chat="200 and whole, 40 ms later for the first; after three in a row at once",
        health=SHOWN,
        tests=(
            f"{OUTAGES}test_redis_costs_nothing",
            "tests/clients/test_redis.py::test_a_server_that_hangs_costs_a_moment_and_then_nothing",
        ),
    ),
    Case(
        Dependency.REDIS,
        Failing.WRONG,
        "what it holds cannot be read, is too large or not what we put there, or it refuses",
        chat="200 and whole: searched anew",
        tests=(
            "tests/services/test_cache.py::test_what_cannot_be_read_is_searched_for",
            "tests/services/test_parcel.py::test_what_cannot_be_read_is_a_miss",
            "tests/clients/test_redis.py::test_what_is_too_large_is_a_miss",
            "tests/clients/test_redis.py::test_a_server_that_refuses_is_a_miss",
        ),
    ),
)

DELETES = "Deletes work while at least 24 MiB are free; below that 507 no-room"
DISK = (
    Case(
        Dependency.DISK,
        Failing.FULL,
        "less than 64 MiB are free: a reserve that new content may not use, since the embedded Qdrant would"
        " end the process where one of its files has no room. With less than 24 MiB a service does not start,"
        " and says so",
        rag="200, memories and corpus as ever; the words of `remember` are not kept: remembered failed",
        memories=f"writing: 507 no-room; nothing is kept. {DELETES}",
        writes=f"507 no-room; nothing is kept. {DELETES}",
        kept="as ever down to 24 MiB, then answers and turns wait until there is room. Files that an erasure"
        " is to rewrite wait for room for the copy",
        tests=(
            "tests/integration/test_disk.py::test_a_full_disk_is_told_and_keeps_nothing",
            "tests/integration/test_disk.py::test_a_write_to_memory_on_a_nearly_full_disk_is_refused_and_ends_nothing",
            "tests/integration/test_disk.py::test_on_a_nearly_full_disk_something_may_still_be_deleted",
            "tests/integration/test_disk.py::test_a_start_on_a_full_disk_says_so",
            "tests/api/test_upload.py::test_a_full_disk_is_not_the_clients_fault",
        ),
    ),
)
