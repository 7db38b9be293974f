"""Replies in progress on this replica, and the events of recorded answers: for clients that resume or stop.

`LiveReply` keeps what a reply has sent. Only the request that asked drives the model; followers read from
what was sent, so that a slow one slows nobody. `events_of` makes the same events, with the same numbers, of a
recorded answer. Events are numbered from 1. Raises `Overloaded`.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import datetime

from app.answer import Answer, Finish, sha256
from app.answering.meta import retrieved
from app.answering.recorder import may_see
from app.db.rows import storable
from app.errors import Overloaded
from app.types import Scope, moment

SentEvent = tuple[str, Mapping[str, object]]
Numbered = tuple[int, str, Mapping[str, object]]
"""An event with its number."""

FOLLOWERS = 16
"""Most followers of one reply."""
LAST = frozenset({"done", "error"})
"""Events that nothing follows."""


@dataclass(slots=True)
class LiveReply:
    """What a reply has sent so far. Tokens are kept as texts: one more reference each."""

    answer_id: str
    endpoint: str
    scope: Scope
    stop: Callable[[], None] = lambda: None
    """Ends the answer as `cancelled`."""
    meta: Mapping[str, object] | None = None
    texts: list[str] = field(default_factory=list)
    tail: list[SentEvent] = field(default_factory=list)
    ended: bool = False
    _followers: set[asyncio.Event] = field(default_factory=set)
    _alone: asyncio.Event | None = None

    def token(self, text: str) -> None:
        self.texts.append(text)
        if self._followers:
            self._wake()

    def tell(self, name: str, data: Mapping[str, object]) -> None:
        """An event other than `token`."""
        if name == "meta":
            self.meta = data
        else:
            self.tail.append((name, data))
        self._wake()

    def end(self) -> None:
        self.ended = True
        self._wake()

    @property
    def said(self) -> bool:
        """True once no event follows, also while its answer is still being recorded."""
        return bool(self.tail) and self.tail[-1][0] in LAST

    def check_room(self) -> None:
        """Raise `Overloaded` if nobody else may follow."""
        if len(self._followers) >= FOLLOWERS:
            raise Overloaded(f"This answer has {FOLLOWERS} readers already.", retry_after=1)

    @contextmanager
    def joined(self, news: asyncio.Event) -> Iterator[None]:
        """Follow inside the block: `news` is set after each event, and at the end."""
        self.check_room()
        self._followers.add(news)
        try:
            yield
        finally:
            self._followers.discard(news)
            if self._alone and not self._followers:
                self._alone.set()

    async def follow(self, after: int) -> AsyncGenerator[Numbered, None]:
        """The events after number `after`, then those to come, up to the end of the reply."""
        news = asyncio.Event()
        with self.joined(news):
            while True:
                news.clear()
                while event := self.event(after + 1):
                    after += 1
                    yield after, *event
                if self.ended:
                    return
                await news.wait()

    async def unfollowed(self) -> None:
        """Return once nobody follows."""
        while self._followers:
            self._alone = self._alone or asyncio.Event()
            self._alone.clear()
            await self._alone.wait()

    async def over(self) -> None:
        """Return once the reply has ended."""
        async for _ in self.follow(len(self.texts) + 1 + len(self.tail)):
            pass

    def event(self, n: int) -> SentEvent | None:
        """The event of this number; None: it was not sent yet."""
        if n == 1:
            return None if self.meta is None else ("meta", self.meta)
        place = n - 2
        if place < len(self.texts):
            return "token", {"text": self.texts[place]}
        rest = self.tail[place - len(self.texts) :]
        return rest[0] if rest else None

    def _wake(self) -> None:
        for news in self._followers:
            news.set()


class Live:
    """The replies in progress, by the id of their answers."""

    def __init__(self) -> None:
        self._replies: dict[str, LiveReply] = {}

    def add(self, progress: LiveReply) -> None:
        self._replies[progress.answer_id] = progress

    def end(self, progress: LiveReply) -> None:
        self._replies.pop(progress.answer_id, None)
        progress.end()

    def find(self, scope: Scope, answer_id: str) -> LiveReply | None:
        """The scope's reply with this id."""
        found = self._replies.get(answer_id)
        return found if found and may_see(scope, found.scope) else None

    def newest(self, scope: Scope, thread: str) -> LiveReply | None:
        """The scope's newest reply in a thread that has events to come; ids sort by time."""
        ours = (each for each in self._replies.values() if each.scope.thread == thread and not each.said)
        return max((each for each in ours if may_see(scope, each.scope)), key=_id, default=None)


def _id(progress: LiveReply) -> str:
    return progress.answer_id


def as_json(value: object) -> str:
    """In ASCII on one line; dataclasses with their fields and properties, half a surrogate pair too."""
    return json.dumps(value, default=_plain, separators=(",", ":"))


def plain(value: Mapping[str, object]) -> dict[str, object]:
    """As JSON gives it back."""
    found: dict[str, object] = json.loads(as_json(value))
    return found


def _plain(value: object) -> object:
    if is_dataclass(value):
        made = (name for name, each in vars(type(value)).items() if isinstance(each, property))
        return {name: getattr(value, name) for name in (*(each.name for each in fields(value)), *made)}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, datetime):
        return moment(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


UNKEPT = ("debug", "system_prompt")
"""Fields of `meta` that hold the prompt: no record has them."""


def without_texts(facts: Mapping[str, object]) -> dict[str, object]:
    """Further fields of `meta` as an answer's record keeps them."""
    kept = {name: value for name, value in facts.items() if name not in UNKEPT}
    if isinstance(used := kept.get("memory_used"), list):
        kept["memory_used"] = [{**item, "text": ""} for item in used]
    return kept


def with_texts(answer: Answer, texts: Mapping[tuple[str, str], str]) -> dict[str, object]:
    """The same with the texts of the passages that are as they were: those by (source, id)."""
    facts = dict(answer.sent.facts) if answer.sent else {}
    if isinstance(used := facts.get("memory_used"), list):
        named = {entry.label: texts.get((entry.source, entry.id), "") for entry in answer.trace.packed}
        same = {each.label for each in answer.trace.packed if sha256(named[each.label]) == each.sha256}
        facts["memory_used"] = [
            {**item, "text": named[item["label"]] if item["label"] in same else ""} for item in used
        ]
    return facts


def lengths(texts: Sequence[str]) -> tuple[int, ...]:
    """Lengths of the pieces of a text as it is stored: a surrogate pair that was split is one character."""
    found: list[int] = []
    half = False
    for text in texts:
        joined = half and "\udc00" <= text[:1] <= "\udfff"
        found.append(len(text if text.isascii() else storable(text)) - joined)
        half = "\ud800" <= text[-1:] <= "\udbff"
    return tuple(found)


def events_of(
    answer: Answer, session_id: str | None, facts: Mapping[str, object], after: int = 0
) -> Iterator[Numbered]:
    """The events of a recorded answer after number `after`. `facts`: further fields of `meta`. An answer of
    an older version has one `token`."""
    sent = answer.sent
    if after < 1:
        head = {"answer_id": answer.id, "session_id": session_id, "model": sent.model if sent else ""}
        head["model"] = head["model"] or answer.model
        yield 1, "meta", {**head, **retrieved(answer.trace, answer.citations), **facts}
    n, start = 1 + (sent.taken_back if sent else 0), 0
    for length in pieces_of(answer):
        n += 1
        if n > after:
            yield n, "token", {"text": answer.text[start : start + length]}
        start += length
    for name, data in tail_of(answer):
        n += 1
        if n > after:
            yield n, name, data


def pieces_of(answer: Answer) -> tuple[int, ...]:
    if answer.sent and sum(answer.sent.pieces) == len(answer.text):
        return answer.sent.pieces
    return (len(answer.text),) if answer.text else ()


def tail_of(answer: Answer) -> Iterator[SentEvent]:
    if answer.sent and answer.sent.error:
        slug, detail = answer.sent.error
        yield "error", {"slug": slug, "detail": detail}
        return
    names = ("cited", "unknown", "appended", "spans")
    yield "citations", {name: getattr(answer, name) for name in names}
    done = {
        "answer_id": answer.id,
        "finish_reason": str(answer.finish or Finish.CANCELLED),
        "usage": answer.usage,
        "took_ms": answer.timings.get("total", 0),
        "remembered": None,
        "class_check": (answer.ruling or {}).get("class_check"),
    }
    yield "done", {**done, **(answer.sent.done if answer.sent else {})}
