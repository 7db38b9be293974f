"""Stores answers (columns plus one JSON body) and looks their sources up again for a replay.

Fields that are searched or listed are columns; citations, trace, usage, timings (milliseconds) and recipe are
in `body`. A vantage answer also has a row in `public.vantage_answer_trace`. The JSON is strict (no NaN, NUL
or lone surrogates); fields of a newer version are ignored, missing ones have defaults. Sources that are gone
are reported as missing. Raises `Unavailable`, `NoRoom`, `Rejected`.
"""

import asyncio
import json
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

import asyncpg
import orjson
import structlog
from pydantic import TypeAdapter

from app.answer import CHAT_LOG_REF, Answer, Block, Kind, Ref, Turn
from app.db.pool import Pool
from app.db.rows import closed, is_id, opened, storable, storable_json
from app.errors import Rejected
from app.types import CERTAIN, Scope

BODY = (
    "citations",
    "cited",
    "unknown",
    "appended",
    "spans",
    "prompt_sha256",
    "trace",
    "usage",
    "timings",
    "recipe",
    "ruling",
    "sent",
)
RECIPE = ("form", "system", "before", "notes", "ranking", "project")
"""Fields of a recipe that are stored as JSON: all but its turns."""
RULED = (
    *("response_class", "rules", "policy_version", "policy_sha256", "params", "mix", "sd", "class_check"),
    *("vantage_id", "inspect_only"),
)
"""Fields of a ruling that are columns of public.vantage_answer_trace."""
COLUMNS = (
    *("answer_id", "tenant", "owner", "user_id", "thread_id", "project", *RULED),
    *("used", "memory_ids", "corpus_ids", "model", "prompt_sha256", "timings", "created_at"),
)
"""Columns of that table that Ibid writes."""
USED = ("source", "id", "label", "similarity", "score", "boosts", "verdict", "sha256")
"""Fields of a candidate that a row of that table contains."""

T = TypeVar("T")


def body_json(answer: Answer) -> str:
    """The body as JSON; characters and numbers that JSON and jsonb cannot hold are replaced."""
    try:
        body = orjson.dumps(body_of(answer), option=orjson.OPT_UTC_Z)
    except TypeError:
        return sanitised_body(answer)
    finite = all(
        math.isfinite(entry.score + (entry.similarity or 0.0) + sum(entry.boosts.values()))
        for entry in answer.trace.entries
    )
    return body.decode() if finite and b"\\u0000" not in body else sanitised_body(answer)


def sanitised_body(answer: Answer) -> str:
    """Slow: a trace of eighty candidates takes milliseconds, so `body_json` tries orjson first."""
    return json.dumps(storable_json(body_of(answer), nan=0.0), ensure_ascii=False)


def body_of(answer: Answer) -> dict[str, object]:
    kept = {name: getattr(answer, name) for name in BODY}
    if (made := answer.recipe) is not None:
        kept["recipe"] = {name: getattr(made, name) for name in RECIPE} | {
            "turns": list(map(turn_row, made.turns))
        }
    return kept


def turn_row(turn: Block) -> tuple[str | None, ...]:
    return turn.name, turn.sha256, turn.refs[0].id if turn.refs else None, turn.text


def trace_row(scope: Scope, answer: Answer) -> str | None:
    """A vantage answer's row of public.vantage_answer_trace as JSON; None for other answers."""
    if answer.ruling is None:
        return None
    packed = answer.trace.packed
    row = {name: answer.ruling[name] for name in RULED if name in answer.ruling} | {
        "answer_id": answer.id,
        "tenant": scope.tenant,
        "owner": scope.owner,
        "user_id": scope.user_id,
        "thread_id": scope.thread,
        "project": scope.project,
        "used": [{name: getattr(entry, name) for name in USED} for entry in packed],
        "memory_ids": [entry.id for entry in packed if entry.source == "memories"],
        "corpus_ids": [entry.id for entry in packed if entry.source == "corpus"],
        "model": answer.model,
        "prompt_sha256": answer.prompt_sha256,
        "timings": answer.timings,
        "created_at": answer.created_at,
    }
    return json.dumps(storable_json(row, nan=0.0), ensure_ascii=False)


STORED = TypeAdapter(Answer)
STORED_COLUMNS = ("id", "endpoint", "question", "text", "model", "finish", "created_at", "rating")
"""Columns of an answer beside its body."""


def restored(row: asyncpg.Record) -> Answer:
    """The answer of a row. Ignores fields of a newer version, and boosts that an older one stored as null;
    what an older one stored as vouched for by words is certain evidence."""
    stored = {name: row[name] for name in STORED_COLUMNS} | json.loads(row["body"])
    for entry in stored.get("trace", {}).get("entries", ()):
        if boosts := entry.get("boosts"):
            entry["boosts"] = {name: value for name, value in boosts.items() if value is not None}
        if entry.get("vouched"):
            entry.setdefault("evidence", CERTAIN)
    if recipe := stored.get("recipe"):
        recipe["turns"] = [turn(*each) for each in recipe.get("turns", ())]
    return STORED.validate_python(stored)


def turn(name: str, sha256: str, key: str | None, text: str, *_: object) -> Block:
    refs = (Ref(CHAT_LOG_REF, key, sha256),) if key is not None else ()
    return Block(Kind.TURN, sha256, text, name, refs)


# A repeated write replaces the answer, never another user's; its turns came with the first write (xmax is 0
# for a new row). One statement, so it is atomic and needs one round trip. Turns of one instant are a
# microsecond apart. Nothing is written if the session or user was removed since the question came.
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
# The trace table may be an older tool's: each value is cast to its column's type, and it need not have a
# unique index, so the answer's own row tells whether this one is new.
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
GET = f"SELECT {', '.join(STORED_COLUMNS)}, body FROM ibid.answer WHERE tenant = $1"  # noqa: S608 - as above
# By its id an answer is found for its user, with any key; a tenant key without a user sees any of its tenant.
# The same rule as in `Recorder.find`.
SEEN = "id = $3 AND ($4 IN (user_id, owner) OR ($4::text IS NULL AND $2 IN ('', owner)))"
ONE = f"{GET} AND {SEEN}"
ASKED = f"""
    SELECT tenant, owner, user_id, session_id, thread_id FROM ibid.answer WHERE tenant = $1 AND {SEEN}
"""  # noqa: S608 - constants of ours
SEVERAL = f"""
    SELECT {", ".join(STORED_COLUMNS)}, body - 'recipe' AS body FROM ibid.answer
    WHERE tenant = $1 AND owner = $2 AND session_id = $3 AND id = ANY($4)
"""  # noqa: S608 - constants of ours
PAGE = """
    SELECT id, created_at, endpoint, question, text, model, finish, session_id, thread_id, user_id,
        ARRAY(SELECT jsonb_array_elements_text(body -> 'cited')) AS cited
    FROM ibid.answer
    WHERE tenant = $1 AND ($3 IN (user_id, owner) OR ($3::text IS NULL AND $2 IN ('', owner)))
    AND ($4::text IS NULL OR session_id = $4) AND ($5::text IS NULL OR coalesce(thread_id, session_id) = $5)
    AND ($6::text IS NULL OR id < $6)
    ORDER BY id DESC LIMIT $7
"""
SAID = f"{GET} AND owner = $2 AND user_id = $3 AND text <> ''"
HEARD = f"{SAID} AND thread_id {{thread}} ORDER BY id DESC LIMIT 1"
LAST, LAST_UNTHREADED = HEARD.format(thread="= $4"), HEARD.format(thread="IS NULL AND session_id IS NULL")
# An older tool's columns may have any type, so ids are compared as text. For rows of ours the answer itself
# decides who may see it.
SELECT_USED = """
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


@dataclass(frozen=True, slots=True)
class AnswerLine:
    """An answer in a list."""

    id: str
    created_at: datetime
    endpoint: str
    question: str
    text: str
    model: str
    finish: str | None
    session_id: str | None
    thread_id: str | None
    user_id: str | None
    cited: Sequence[str]


class AnswerStore:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def keep(self, scope: Scope, answer: Answer, turns: Sequence[Turn] = ()) -> None:
        """Write an answer, its trace and its turns, all or none; the same id again replaces. Writes nothing
        if the session or user was removed since the question came. `Rejected` is permanent."""
        self._pool.check_room()
        body = body_json(answer)
        asked = (scope.tenant, scope.owner, scope.user_id, scope.session_id, scope.thread_id)
        said = (
            answer.endpoint,
            storable(answer.question),
            storable(answer.text),
            answer.model,
            answer.finish,
        )
        turn_values = no_turns(scope) if inspected(answer) else turn_columns(scope, turns)
        given = (answer.id, *asked, *said, body, answer.created_at, *turn_values)
        if (row := trace_row(scope, answer)) and await self._kept(*given, row):
            return
        with self._pool.recording():
            await self._pool.execute(KEEP, *given)

    async def _kept(self, *given: object) -> bool:
        """True if the answer was written, with its trace row. If another tool's trace table rejects the row,
        the answer is written without it: its body holds the ruling, too."""
        try:
            with self._pool.recording():
                await self._pool.execute(KEEP_RULED, *given)
        except Rejected:
            log.error("no trace row kept", answer_id=given[0])
            return False
        return True

    async def get(self, scope: Scope, answer_id: str) -> Answer | None:
        """The answer if it belongs to the scope's user, with whichever key it was asked."""
        if not is_id(answer_id):
            return None
        with self._pool.recording():
            row = await self._pool.fetchrow(ONE, scope.tenant, scope.owner, answer_id, scope.user_id)
        return restored(row) if row else None

    async def list(
        self, scope: Scope, *, cursor: str | None, limit: int
    ) -> tuple[list[AnswerLine], str | None]:
        """Newest first; those that the scope may see, of its user, session and thread if it names them."""
        before = opened(cursor)[1] if cursor else None
        who = (scope.tenant, scope.owner, scope.user_id, scope.session_id, scope.thread_id)
        with self._pool.asking():
            rows = await self._pool.fetch(PAGE, *who, before, limit + 1)
        found = [AnswerLine(**row) for row in rows[:limit]]
        return found, closed(found[-1].created_at, found[-1].id) if len(rows) > limit else None

    async def several(self, scope: Scope, ids: Collection[str]) -> dict[str, Answer]:
        """Answers of the scope's session by id, without their recipes."""
        with self._pool.asking():
            rows = await self._pool.fetch(SEVERAL, scope.tenant, scope.owner, scope.session_id, list(ids))
        found = await asyncio.to_thread(lambda: list(map(restored, rows)))  # half a millisecond each
        return {answer.id: answer for answer in found}

    async def asked(self, scope: Scope, answer_id: str) -> Scope | None:
        if not is_id(answer_id):
            return None
        with self._pool.recording():
            row = await self._pool.fetchrow(ASKED, scope.tenant, scope.owner, answer_id, scope.user_id)
        return Scope(**row) if row else None

    async def used(self, scope: Scope, answer_id: str) -> tuple[str, ...] | None:
        """Memories used by an answer that only an older tool's trace table holds."""
        if not is_id(answer_id):
            return None
        with self._pool.recording():
            row = await self._pool.fetchrow(SELECT_USED, scope.tenant, scope.user_id, answer_id)
        return ids_in(row["ids"]) if row else None

    async def last(self, scope: Scope) -> Answer | None:
        """The newest answer with a text of the scope's user and thread; ids sort by time."""
        thread = scope.thread
        asked = (scope.tenant, scope.owner, scope.user_id, *([thread] if thread else []))
        with self._pool.recording():
            row = await self._pool.fetchrow(LAST if thread else LAST_UNTHREADED, *asked)
        return restored(row) if row else None

    async def removed(self, scope: Scope, since: datetime) -> bool:
        place = (scope.tenant, scope.owner, scope.session_id or "")
        users = [user for user in (scope.user_id, scope.owner) if user]
        with self._pool.recording():
            return bool(await self._pool.fetchval(REMOVED, *place, since, users))


def ids_in(ids: str | None) -> tuple[str, ...]:
    try:
        found = json.loads(ids or "[]")
        rows = json.loads(found) if isinstance(found, str) else found
    except ValueError:
        return ()
    return tuple(dict.fromkeys(one for one in rows if isinstance(one, str))) if isinstance(rows, list) else ()


def inspected(answer: Answer) -> bool:
    return bool(answer.ruling and answer.ruling.get("inspect_only"))


def no_turns(scope: Scope) -> tuple[object, ...]:
    return ("", scope.thread, scope.project, [], [], [])


def turn_columns(scope: Scope, turns: Sequence[Turn]) -> tuple[object, ...]:
    return (
        scope.user_id or scope.owner,
        scope.thread,
        scope.project,
        [turn.role.value for turn in turns],
        [storable(turn.content) for turn in turns],
        [turn.at for turn in turns],
    )
