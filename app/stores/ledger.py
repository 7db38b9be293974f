"""An answer as JSON, and back: what `stores/answers.py` keeps in `body`, and the row of a vantage answer's
trace.

Strict JSON that jsonb can hold: no NaN, no NUL, no lone surrogates. What a newer version added is passed
over, what an older one did not write has its default. Times are RFC 3339. Raises KeyError and ValueError for
what no version wrote.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any, TypeVar

import asyncpg
import orjson

from app.domain.answer import Answer, Citation, Finish, Usage
from app.domain.passage import Scope
from app.domain.recipe import CHAT_LOG, Block, Kind, Recipe, Ref
from app.domain.timestamp import moment
from app.domain.trace import Degraded, Entry, Pending, Reason, Trace, Verdict
from app.stores.text import storable

BODY = (
    "citations",
    "cited",
    "unknown",
    "appended",
    "prompt_sha256",
    "trace",
    "usage",
    "timings",
    "recipe",
    "ruling",
)
RECIPE = ("form", "system", "before", "notes", "ranking", "project")
"""Of a recipe, all but its turns."""
RULED = (
    *("response_class", "rules", "policy_version", "policy_sha256", "params", "mix", "sd", "class_check"),
    *("vantage_id", "inspect_only"),
)
"""Of a ruling, what is a column of public.vantage_answer_trace."""
COLUMNS = (
    *("answer_id", "tenant", "owner", "user_id", "thread_id", "project", *RULED),
    *("used", "memory_ids", "corpus_ids", "model", "prompt_sha256", "timings", "created_at"),
)
"""Of a row there: those of ours that are written."""
USED = ("source", "id", "label", "similarity", "score", "boosts", "verdict", "sha256")
"""Of a candidate, what a row there tells."""

T = TypeVar("T")


def written(answer: Answer) -> str:
    """What is kept as JSON: at once where it can be, else with what JSON and jsonb cannot hold mended."""
    try:
        body = orjson.dumps(facts(answer), option=orjson.OPT_UTC_Z)
    except TypeError:
        return mended(answer)
    finite = all(math.isfinite(entry.score + (entry.similarity or 0.0)) for entry in answer.trace.entries)
    return body.decode() if finite and b"\\u0000" not in body else mended(answer)


def mended(answer: Answer) -> str:
    """A ledger of eighty candidates takes milliseconds this way."""
    return json.dumps(plain(facts(answer)), ensure_ascii=False)


def facts(answer: Answer) -> dict[str, object]:
    """What is kept, by name. The turns of a recipe are rows, a third of their size: a thread may be long."""
    kept = {name: getattr(answer, name) for name in BODY}
    if (made := answer.recipe) is not None:
        kept["recipe"] = {name: getattr(made, name) for name in RECIPE} | {
            "turns": list(map(short, made.turns))
        }
    return kept


def short(turn: Block) -> tuple[str | None, ...]:
    """A turn as a row: who spoke, its hash, its id in the chat log, its text where that is kept."""
    return turn.name, turn.sha256, turn.refs[0].id if turn.refs else None, turn.text


def plain(value: object) -> object:
    """A value of the domain as JSON can say it and jsonb can hold it."""
    if is_dataclass(value):
        return {item.name: plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Mapping):
        return {storable(str(name)): plain(item) for name, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    return storable(value) if isinstance(value, str) else simple(value)


def simple(value: object) -> object:
    """A number, a time, or nothing. JSON has no NaN."""
    if isinstance(value, datetime):
        return moment(value)
    return 0.0 if isinstance(value, float) and not math.isfinite(value) else value


def traced(scope: Scope, answer: Answer) -> str | None:
    """A vantage answer's row of public.vantage_answer_trace, by column; None: it is no such answer."""
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
    return json.dumps(plain(row), ensure_ascii=False)


def picked(kind: type[T], data: Mapping[str, Any], /, **read: object) -> T:
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
        recipe=recipe(body.get("recipe")),
        ruling=body.get("ruling"),
        appended=body.get("appended", False),
    )


def trace(data: Mapping[str, Any]) -> Trace:
    """The ledger as it was."""
    degraded = tuple(picked(Degraded, item) for item in data["degraded"])
    known = {
        "entries": tuple(map(entry, data["entries"])),
        "degraded": degraded,
        "told": tuple(data.get("told", ())),
        "pending": tuple(picked(Pending, item) for item in data.get("pending", ())),
    }
    return picked(Trace, data, reason=Reason(data["reason"]), **known)


def entry(data: Mapping[str, Any]) -> Entry:
    """A candidate's line."""
    at = data.get("created_at")
    return picked(
        Entry, data, verdict=Verdict(data["verdict"]), created_at=datetime.fromisoformat(at) if at else None
    )


def recipe(data: Mapping[str, Any] | None) -> Recipe | None:
    """The recipe as it was; None: there was none."""
    if data is None:
        return None
    lists = {name: tuple(map(block, data.get(name, ()))) for name in ("before", "notes")}
    return picked(
        Recipe, data, system=block(data["system"]), turns=tuple(map(turn, data.get("turns", ()))), **lists
    )


def turn(row: Sequence[Any]) -> Block:
    """A turn from its row."""
    name, found, key, text, *_ = row
    refs = (Ref(CHAT_LOG, key, found),) if key is not None else ()
    return Block(Kind.TURN, found, text, name, refs)


def block(data: Mapping[str, Any]) -> Block:
    """A block of it."""
    refs = tuple(picked(Ref, item) for item in data.get("refs", ()))
    return picked(Block, data, kind=Kind(data["kind"]), refs=refs)
