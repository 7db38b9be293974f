"""Sends the script to a fresh service of a checkout and records what comes back.

Two configurations: `stub`, whose chat model and embeddings are servers of ours; `bundled`, with the bundled
embedder, where the open part has no chat model either. Three parts: an open service without keys, one with
keys of two tenants, and that one started again in debug mode.
"""

import json
import re
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
from anyio.from_thread import start_blocking_portal

from tests.fakes.model import Fault, serving
from tests.golden import record
from tests.golden.ask import Ask
from tests.golden.record import Entry, Names
from tests.golden.script import PARTS
from tests.golden.script.library import DAYS
from tests.golden.service import BOOTSTRAP, made_key, service
from tests.golden.stub import JUDGE, StubEmbedder, StubModel

CONFIGURATIONS = ("stub", "bundled")
DIM = 512
PATIENCE_SECONDS = 60.0
PLACE = re.compile(r"\{([a-z][a-z0-9_]*)\}")
IDS = ("answer_id", "id", "memory.id", "row.session_id", "0.data.answer_id")
"""Where the id in a reply is."""
VANTAGE = {"ENABLE_VANTAGE_ENDPOINTS": "1", "VANTAGE_PERSONAL_MEMORY": "1", "IBID_BOOTSTRAP_KEY": BOOTSTRAP}
DEBUG = {"RAG_DEBUG_MODE": "1", "VANTAGE_DEBUG": "1", "RAG_TOKEN_BUDGET": "1000"}
PATIENT = {"RAG_TIMEOUT_SECONDS": "60"}
"""So that a busy machine changes no answer."""


@dataclass
class Models:
    """The servers of ours that a service asks."""

    chat: StubModel
    embed: StubEmbedder

    def settings(self, *, chat: bool, embed: bool) -> dict[str, str]:
        """The environment that points a service to them."""
        told: dict[str, str] = {}
        if chat:
            told |= {"CHAT_BASE_URL": self.chat.url, "CHAT_MODEL": "stub-chat", "FEEDBACK_MODEL": JUDGE}
        if embed:
            told |= {"EMBED_BASE_URL": self.embed.url, "EMBED_MODEL": "stub-words", "EMBED_DIM": str(DIM)}
        return told


@dataclass
class Session:
    configuration: str
    models: Models
    names: Names
    values: dict[str, str]
    """What `{name}` stands for."""
    keys: dict[str, str]
    entries: list[Entry]
    asked: list[tuple[str, str]]
    """Method and path of every request sent."""
    document: dict[str, Any]
    """OpenAPI's, the last that was read."""

    def play(self, client: httpx.Client, asks: Sequence[Ask]) -> None:
        for ask in asks:
            if ask.only in {"", self.configuration}:
                self.entries.append(self.one(client, ask))

    def one(self, client: httpx.Client, ask: Ask) -> Entry:
        chat, embed = self.models.chat, self.models.embed
        chat.says = None if ask.says is None else self.filled(ask.says)
        chat.split, chat.fault, embed.fault = ask.split, ask.fault or Fault(), ask.embed_fault or Fault()
        chat.requests.clear()
        self.names.here = ask.name
        response = self.sent(client, ask)
        head: Entry = {"name": ask.name, "request": f"{ask.method} {ask.path} ({ask.key or 'no key'})"}
        if isinstance(response, str):
            return head | {"error": response}
        self.names.known[response.headers.get("x-request-id", "")] = "<request-id>"
        body = self.body(response)
        self.keep(ask, body)
        self.names.tie(body)
        seen = [prompt(request.body) for request in chat.requests]
        told = {"model": sorted(seen, key=lambda each: json.dumps(each, sort_keys=True))} if seen else {}
        headers = {name: response.headers[name] for name in record.HEADERS if name in response.headers}
        raw = {"status": response.status_code, "headers": headers, "body": body} | told
        # The body first: it says what the short ids in the prompt stand for.
        return head | {
            name: self.names.value(raw[name], name) for name in ("status", "headers", "body", *told)
        }

    def sent(self, client: httpx.Client, ask: Ask) -> httpx.Response | str:
        """The response; the transport's fault if there is none."""
        key = self.keys.get(ask.key, ask.key)
        headers = ({"Authorization": f"Bearer {key}"} if key else {}) | dict(ask.headers)
        path = self.filled(ask.path)
        self.asked.append((ask.method, path))
        content = ask.content
        if content is None and ask.json is not None:
            content = json.dumps(self.filled(ask.json)).encode()
        if content is not None and "Content-Type" not in headers:
            headers["Content-Type"] = "application/json"
        form = None if ask.form is None else self.filled(dict(ask.form))
        files = {"file": ask.file} if ask.file else None
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                response = client.request(
                    ask.method, path, content=content, data=form, files=files, headers=headers
                )
            except httpx.TransportError as error:
                return type(error).__name__
            where, value = ask.until or ("", None)
            if not where or at(self.body(response), where) == value or time.monotonic() > end:
                return response
            self.models.chat.requests.clear()
            time.sleep(0.1)

    def body(self, response: httpx.Response) -> Any:
        """As it is recorded: JSON, events, or what the bytes are."""
        kind = response.headers.get("content-type", "").partition(";")[0]
        if kind == "text/event-stream":
            return record.events(response.text)
        if kind.endswith("json"):
            value = response.json()
            if isinstance(value, dict) and "openapi" in value:
                self.document = value
                return record.operations(value)
            return value
        if kind == "text/plain":
            return response.text
        return (
            f"<{kind or 'nothing'}>"
            if kind.startswith("text/") or not kind
            else f"<{len(response.content)} bytes>"
        )

    def keep(self, ask: Ask, body: Any) -> None:
        """The values that later requests refer to, and their names in the record."""
        if isinstance(ask.save, str):
            found = next((value for place in IDS if (value := at(body, place))), None)
            saved = {ask.save: found} if ask.save else {}
        else:
            saved = {name: at(body, place) for name, place in ask.save.items()}
        for name, value in saved.items():
            if isinstance(value, str):
                self.values[name] = value
                if record.OPAQUE.fullmatch(value):
                    self.names.known.setdefault(value, f"<{name}>")

    def filled(self, value: Any) -> Any:
        """With every `{name}` that is known replaced."""
        match value:
            case str():
                return PLACE.sub(lambda found: self.values.get(found[1], found[0]), value)
            case dict():
                return {self.filled(name): self.filled(item) for name, item in value.items()}
            case list():
                return [self.filled(item) for item in value]
        return value


def prompt(body: Mapping[str, Any]) -> dict[str, Any]:
    """What a model was asked: everything that was sent but the switches of the stream."""
    return {name: value for name, value in body.items() if name not in {"stream", "stream_options"}}


def at(value: Any, place: str) -> Any:
    """The value at `items.0.id`; None where there is none."""
    for step in place.split("."):
        if isinstance(value, list) and step.isdigit():
            value = value[int(step)] if int(step) < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value


@contextmanager
def models() -> Iterator[Models]:
    """Both servers, in a thread of their own."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(serving(StubModel())) as chat,
        portal.wrap_async_context_manager(serving(StubEmbedder(dim=DIM))) as embed,
    ):
        yield Models(chat, embed)


def run(program: Path, configuration: str) -> tuple[list[Entry], list[str]]:
    """The record of what an `ibid` serves, and the operations of its OpenAPI document without a request."""
    start = record.now()
    days = {f"days_ago_{n}": (start - timedelta(days=n)).isoformat().replace("+00:00", "Z") for n in DAYS}
    with tempfile.TemporaryDirectory(prefix="ibid-golden-") as home, models() as ours:
        session = Session(configuration, ours, Names(start, DAYS), days, {}, [], [], {})
        stub = configuration == "stub"
        data = Path(home) / "open"
        with service(program, data, ours.settings(chat=stub, embed=stub) | PATIENT) as client:
            session.play(client, PARTS["open"])
        session.names = Names(start, DAYS)  # nothing of one data folder is the other's
        data = Path(home) / "keys"
        settings = ours.settings(chat=True, embed=stub) | PATIENT | VANTAGE
        with service(program, data, settings) as client:
            session.keys = {"home": BOOTSTRAP}
            session.keys["ada"] = made_key(program, data, "default", user="ada")
            session.keys["zeta"] = made_key(program, data, "zeta")
            session.play(client, PARTS["keys"])
        with service(program, data, settings | DEBUG) as client:
            session.play(client, PARTS["debug"])
    return session.entries, uncovered(session.document, session.asked)


def uncovered(document: Mapping[str, Any], asked: Sequence[tuple[str, str]]) -> list[str]:
    """The operations of an OpenAPI document that no request was for. A path's fixed parts decide before its
    parameters, as in the service: `/code/files` is not `/code/{row_id}`."""
    patterns = {
        path: re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path)))
        for path in document.get("paths", {})
    }
    hit: set[tuple[str, str]] = set()
    for method, sent in asked:
        bare = sent.partition("?")[0]
        fitting = sorted((path.count("{"), path) for path, form in patterns.items() if form.fullmatch(bare))
        if fitting:
            hit.add((method.lower(), fitting[0][1]))
    return sorted(
        f"{method.upper()} {path}"
        for path, methods in document.get("paths", {}).items()
        for method in methods
        if (method, path) not in hit
    )
