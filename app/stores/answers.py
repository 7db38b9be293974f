"""The record of every answer (`ports.Answers`): what was seen, what was packed, what was said.

What is searched or listed by is in columns, the rest in `body` (jsonb), as `ledger.py` writes it: citations,
cited, unknown, appended, the prompt's hash, trace, usage, timings (milliseconds), recipe and ruling. A
vantage answer has a row of public.vantage_answer_trace too. Raises `Unavailable`, `NoRoom`, `Rejected`.
"""

import json
from collections.abc import Sequence
from datetime import datetime

import structlog

from app.clients.pool import Pool
from app.domain.answer import Answer
from app.domain.errors import Rejected
from app.domain.passage import Scope
from app.domain.prompt import Turn
from app.stores.ledger import COLUMNS, restored, traced, written
from app.stores.reach import is_id
from app.stores.text import storable

# The same answer again (a repeated write, or its text after a placeholder) replaces itself, never another's;
# its turns came with the first (xmax is 0 where a row is new). One statement, one commit: half of it is never
# there, and an answer's end waits for one round trip. Turns of one instant are a microsecond apart. Of a
# session that was removed, or a user who was erased, since the question came nothing is written.
ANSWER = """
    WITH kept AS (
        INSERT INTO ibid.answer AS answer (id, tenant, owner, user_id, session_id, thread_id, endpoint,
            question, text, model, finish, body, created_at)
        SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13
        WHERE ibid.session_stands($2, $3, $5, $13)
        AND ibid.user_stands($2, $4, $13) AND ibid.user_stands($2, $3, $13)
        ON CONFLICT (id) DO UPDATE SET text = excluded.text, model = excluded.model, finish = excluded.finish,
            body = excluded.body
        WHERE answer.tenant = excluded.tenant AND answer.owner = excluded.owner
        RETURNING xmax = 0 AS fresh),
    active AS (
        INSERT INTO ibid.activity AS activity (tenant, user_id, last_message_at)
        SELECT $2, $14::text, now() FROM kept WHERE fresh AND $14 <> ''
        ON CONFLICT (tenant, user_id) DO UPDATE
        SET last_message_at = greatest(activity.last_message_at, excluded.last_message_at))
"""
TURNS = """
    INSERT INTO public.chat_log
        (tenant, owner, user_id, session_id, answer_id, thread_id, project, role, content, created_at)
    SELECT $2, $3, $4, $5, $1, $15, $16, role, content, coalesce(at, now()) + n * interval '1 microsecond'
    FROM kept, unnest($17::text[], $18::text[], $19::timestamptz[])
        WITH ORDINALITY AS turn (role, content, at, n)
    WHERE fresh ORDER BY n
"""
KEEP = ANSWER + TURNS
# The seeds' table may be an older tool's, its columns of other types: each value becomes what its column is.
# It need not have a unique index: the answer's own row says whether this one is new.
ROW = "jsonb_populate_record(NULL::public.vantage_answer_trace, $20::jsonb) AS told"
KEEP_RULED = f"""{ANSWER},
    added AS (
        INSERT INTO public.vantage_answer_trace ({", ".join(COLUMNS)})
        SELECT {", ".join(f"told.{name}" for name in COLUMNS)} FROM kept, {ROW} WHERE fresh),
    renewed AS (
        UPDATE public.vantage_answer_trace AS trace
        SET {", ".join(f"{name} = told.{name}" for name in COLUMNS)}
        FROM kept, {ROW} WHERE NOT fresh AND trace.answer_id = told.answer_id)
{TURNS}"""  # noqa: S608 - constants of ours
GET = """
    SELECT id, endpoint, question, text, model, finish, body, created_at FROM ibid.answer
    WHERE tenant = $1
"""
# By its id an answer is its user's, whichever key asked (CONTRACT §6); a key for all that names nobody sees
# any of its tenant. `Recorder.find` says so of those that wait.
SEEN = "id = $3 AND ($4 IN (user_id, owner) OR ($4::text IS NULL AND $2 IN ('', owner)))"
ONE = f"{GET} AND {SEEN}"
ASKED = f"""
    SELECT tenant, owner, user_id, session_id, thread_id FROM ibid.answer WHERE tenant = $1 AND {SEEN}
"""  # noqa: S608 - constants of ours
SAID = f"{GET} AND owner = $2 AND user_id = $3 AND text <> ''"
HEARD = f"{SAID} AND thread_id {{thread}} ORDER BY id DESC LIMIT 1"
LAST, LAST_UNTHREADED = HEARD.format(thread="= $4"), HEARD.format(thread="IS NULL AND session_id IS NULL")
# Of an older tool's table the columns may be of any type: ids are compared as text. Of a row of ours the
# answer stands, and says itself who may see it.
USED = """
    SELECT to_jsonb(trace) -> 'memory_ids' AS ids FROM public.vantage_answer_trace AS trace
    WHERE tenant = $1 AND user_id = $2 AND answer_id::text = $3
    AND to_jsonb(trace) ->> 'inspect_only' IS DISTINCT FROM 'true'
    AND NOT EXISTS (SELECT FROM ibid.answer WHERE id = $3)
    LIMIT 1
"""
REMOVED = """
    SELECT true FROM ibid.part
    WHERE tenant = $1 AND owner = $2 AND session_id = $3 AND removed_at > $4
    UNION ALL
    SELECT true FROM ibid.memory_user WHERE tenant = $1 AND user_id = ANY($5) AND erased_at > $4
"""

log = structlog.get_logger(__name__)


class AnswerStore:
    """The answers."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def keep(self, scope: Scope, answer: Answer, turns: Sequence[Turn] = ()) -> None:
        """Write one answer with its trace and its turns, and mark the user's activity; again replaces.
        Nothing is written if its session was removed since; of one that was only inspected no turns."""
        self._pool.check_room()
        body = written(answer)
        asked = (scope.tenant, scope.owner, scope.user_id, scope.session_id, scope.thread_id)
        said = (
            answer.endpoint,
            storable(answer.question),
            storable(answer.text),
            answer.model,
            answer.finish,
        )
        told = silence(scope) if inspected(answer) else spoken(scope, turns)
        given = (answer.id, *asked, *said, body, answer.created_at, *told)
        if (row := traced(scope, answer)) and await self._kept(*given, row):
            return
        with self._pool.recording():
            await self._pool.execute(KEEP, *given)

    async def _kept(self, *given: object) -> bool:
        """Whether it was, with its row of the seeds' table. An older tool's may take none of ours: then the
        answer, whose ruling is in its body, is kept without."""
        try:
            with self._pool.recording():
                await self._pool.execute(KEEP_RULED, *given)
        except Rejected:
            log.error("no trace row kept", answer_id=given[0])
            return False
        return True

    async def get(self, scope: Scope, answer_id: str) -> Answer | None:
        """The answer if it is the asker's, or of the user that the asker acts for."""
        if not is_id(answer_id):
            return None
        with self._pool.recording():
            row = await self._pool.fetchrow(ONE, scope.tenant, scope.owner, answer_id, scope.user_id)
        return restored(row) if row else None

    async def asked(self, scope: Scope, answer_id: str) -> Scope | None:
        """In whose name and where an answer was asked, for who may see it."""
        if not is_id(answer_id):
            return None
        with self._pool.recording():
            row = await self._pool.fetchrow(ASKED, scope.tenant, scope.owner, answer_id, scope.user_id)
        return Scope(**row) if row else None

    async def used(self, scope: Scope, answer_id: str) -> tuple[str, ...] | None:
        """The memories of an older tool's answer to the scope's user; None: its trace is not there."""
        if not is_id(answer_id):
            return None
        with self._pool.recording():
            row = await self._pool.fetchrow(USED, scope.tenant, scope.user_id, answer_id)
        return named(row["ids"]) if row else None

    async def last(self, scope: Scope) -> Answer | None:
        """The newest of the scope's user and thread that said anything; ids sort by time."""
        thread = scope.thread
        asked = (scope.tenant, scope.owner, scope.user_id, *([thread] if thread else []))
        with self._pool.recording():
            row = await self._pool.fetchrow(LAST if thread else LAST_UNTHREADED, *asked)
        return restored(row) if row else None

    async def removed(self, scope: Scope, since: datetime) -> bool:
        """Whether the scope's session was removed after `since`, or its user erased."""
        place = (scope.tenant, scope.owner, scope.session_id or "")
        users = [user for user in (scope.user_id, scope.owner) if user]
        with self._pool.recording():
            return bool(await self._pool.fetchval(REMOVED, *place, since, users))


def named(ids: str | None) -> tuple[str, ...]:
    """Those of a JSON array, or of a text that is one, each once; what is no id is passed over."""
    try:
        found = json.loads(ids or "[]")
        rows = json.loads(found) if isinstance(found, str) else found
    except ValueError:
        return ()
    return tuple(dict.fromkeys(one for one in rows if isinstance(one, str))) if isinstance(rows, list) else ()


def inspected(answer: Answer) -> bool:
    """Whether somebody only looked: nothing was said, and nobody was active (CONTRACT §0, Turns)."""
    return bool(answer.ruling and answer.ruling.get("inspect_only"))


def silence(scope: Scope) -> tuple[object, ...]:
    """As `spoken`, of nobody and nothing."""
    return ("", scope.thread, scope.project, [], [], [])


def spoken(scope: Scope, turns: Sequence[Turn]) -> tuple[object, ...]:
    """Whose activity it is ("" for nobody's), the thread, the project, and the turns as columns."""
    return (
        scope.user_id or scope.owner,
        scope.thread,
        scope.project,
        [turn.role.value for turn in turns],
        [storable(turn.content) for turn in turns],
        [turn.at for turn in turns],
    )
