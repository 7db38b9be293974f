"""The record of every answer (`ports.Answers`): what was seen, what was packed, what was said.

What is searched or listed by is in columns, the rest in `body` (jsonb): citations, cited, unknown, the
prompt's hash, the trace, usage and timings (milliseconds). Raises `Unavailable`, `NoRoom`, `Rejected`.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any, TypeVar

import asyncpg
import orjson

from app.clients.faults import record_faults
from app.clients.pool import Pool
from app.domain.answer import Answer, Citation, Finish, Usage
from app.domain.passage import Scope
from app.domain.prompt import Turn
from app.domain.trace import Degraded, Entry, Reason, Trace, Verdict
from app.stores.reach import is_id
from app.stores.text import storable

# The same answer again (a repeated write, or its text after a placeholder) replaces itself, never another's;
# its turns came with the first (xmax is 0 where a row is new). One statement, one commit: half of it is never
# there, and an answer's end waits for one round trip. Turns of one instant are a microsecond apart. Of a
# session that was removed, or a user who was erased, since the question came nothing is written.
KEEP = """
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
    INSERT INTO public.chat_log
        (tenant, owner, user_id, session_id, answer_id, thread_id, project, role, content, created_at)
    SELECT $2, $3, $4, $5, $1, $15, $16, role, content, coalesce(at, now()) + n * interval '1 microsecond'
    FROM kept, unnest($17::text[], $18::text[], $19::timestamptz[])
        WITH ORDINALITY AS turn (role, content, at, n)
    WHERE fresh ORDER BY n
"""
GET = """
    SELECT id, endpoint, question, text, model, finish, body, created_at FROM ibid.answer
    WHERE tenant = $1
"""
# By its id an answer is its user's, whichever key asked (CONTRACT §6); a key for all that names nobody sees
# any of its tenant. `Recorder.find` says so of those that wait.
ONE = f"{GET} AND id = $3 AND ($4 IN (user_id, owner) OR ($4::text IS NULL AND $2 IN ('', owner)))"
SAID = f"{GET} AND owner = $2 AND user_id = $3 AND text <> ''"
HEARD = f"{SAID} AND thread_id {{thread}} ORDER BY id DESC LIMIT 1"
LAST, LAST_UNTHREADED = HEARD.format(thread="= $4"), HEARD.format(thread="IS NULL AND session_id IS NULL")
REMOVED = """
    SELECT true FROM ibid.part
    WHERE tenant = $1 AND owner = $2 AND session_id = $3 AND removed_at > $4
    UNION ALL
    SELECT true FROM ibid.memory_user WHERE tenant = $1 AND user_id = ANY($5) AND erased_at > $4
"""
BODY = ("citations", "cited", "unknown", "prompt_sha256", "trace", "usage", "timings")

Kind = TypeVar("Kind")


class AnswerStore:
    """The answers."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def keep(self, scope: Scope, answer: Answer, turns: Sequence[Turn] = ()) -> None:
        """Write one answer with its trace and its turns, and mark the user's activity; again replaces.
        Nothing is written if its session was removed since."""
        body = written(answer)
        asked = (scope.tenant, scope.owner, scope.user_id, scope.session_id, scope.thread_id)
        said = (
            answer.endpoint,
            storable(answer.question),
            storable(answer.text),
            answer.model,
            answer.finish,
        )
        with record_faults():
            await self._pool.execute(
                KEEP, answer.id, *asked, *said, body, answer.created_at, *told(scope, turns)
            )

    async def get(self, scope: Scope, answer_id: str) -> Answer | None:
        """The answer if it is the asker's, or of the user that the asker acts for."""
        if not is_id(answer_id):
            return None
        with record_faults():
            row = await self._pool.fetchrow(ONE, scope.tenant, scope.owner, answer_id, scope.user_id)
        return restored(row) if row else None

    async def last(self, scope: Scope) -> Answer | None:
        """The newest of the scope's user and thread that said anything; ids sort by time."""
        thread = scope.thread
        asked = (scope.tenant, scope.owner, scope.user_id, *([thread] if thread else []))
        with record_faults():
            row = await self._pool.fetchrow(LAST if thread else LAST_UNTHREADED, *asked)
        return restored(row) if row else None

    async def removed(self, scope: Scope, since: datetime) -> bool:
        """Whether the scope's session was removed after `since`, or its user erased."""
        place = (scope.tenant, scope.owner, scope.session_id or "")
        users = [user for user in (scope.user_id, scope.owner) if user]
        with record_faults():
            return bool(await self._pool.fetchval(REMOVED, *place, since, users))


def told(scope: Scope, turns: Sequence[Turn]) -> tuple[object, ...]:
    """Whose activity it is ("" for nobody's), the thread, the project, and the turns as columns."""
    return (
        scope.user_id or scope.owner,
        scope.thread,
        scope.project,
        [turn.role.value for turn in turns],
        [storable(turn.content) for turn in turns],
        [turn.at for turn in turns],
    )


def written(answer: Answer) -> str:
    """What is kept as JSON: at once where it can be, else with what JSON and jsonb cannot hold mended."""
    try:
        body = orjson.dumps({name: getattr(answer, name) for name in BODY})
    except TypeError:
        return mended(answer)
    finite = all(math.isfinite(entry.score + (entry.similarity or 0.0)) for entry in answer.trace.entries)
    return body.decode() if finite and b"\\u0000" not in body else mended(answer)


def mended(answer: Answer) -> str:
    """A ledger of eighty candidates takes milliseconds this way."""
    return json.dumps(plain({name: getattr(answer, name) for name in BODY}), ensure_ascii=False)


def plain(value: object) -> object:
    """A value of the domain as JSON can say it and jsonb can hold it."""
    if is_dataclass(value):
        return {item.name: plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Mapping):
        return {storable(str(name)): plain(item) for name, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, float) and not math.isfinite(value):
        return 0.0  # JSON has no NaN
    return value


def picked(kind: type[Kind], data: Mapping[str, Any], **read: object) -> Kind:
    """A dataclass from what was kept: what a newer version added is passed over."""
    names = [item.name for item in fields(kind)]  # type: ignore[arg-type] # a dataclass, as all callers give
    return kind(**{name: data[name] for name in names if name in data} | read)


def restored(row: asyncpg.Record) -> Answer:
    """A row as the answer it is."""
    body: dict[str, Any] = json.loads(row["body"])
    return Answer(
        id=row["id"],
        endpoint=row["endpoint"],
        question=row["question"],
        text=row["text"],
        model=row["model"],
        finish=Finish(row["finish"]) if row["finish"] else None,
        citations=tuple(picked(Citation, item) for item in body["citations"]),
        cited=tuple(body["cited"]),
        unknown=tuple(body["unknown"]),
        prompt_sha256=body["prompt_sha256"],
        trace=trace(body["trace"]),
        usage=picked(Usage, body["usage"]),
        created_at=row["created_at"],
        timings=body["timings"],
    )


def trace(data: Mapping[str, Any]) -> Trace:
    """The ledger as it was."""
    entries = tuple(picked(Entry, item, verdict=Verdict(item["verdict"])) for item in data["entries"])
    degraded = tuple(picked(Degraded, item) for item in data["degraded"])
    known = {"entries": entries, "degraded": degraded, "told": tuple(data.get("told", ()))}
    return picked(Trace, data, reason=Reason(data["reason"]), **known)
