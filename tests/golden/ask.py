"""One request of the golden record, as data, and the short forms in which the script writes it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.model import Fault

NONE: Mapping[str, str] = {}


@dataclass(frozen=True, kw_only=True)
class Ask:
    """A request. `{name}` in the path, the body and `says` stands for a value that an earlier reply gave."""

    name: str
    """Unique; `differences.md` refers to it."""
    method: str
    path: str
    key: str = "home"
    """Whose key is sent, see `run.py`: home, ada, zeta; "": none; anything else is sent as it is."""
    json: Any = None
    content: bytes | None = None
    """The body's bytes, where JSON is not what is sent."""
    form: Mapping[str, str] | None = None
    file: tuple[str, bytes] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    save: str | Mapping[str, str] = ""
    """The reply's id under this name; or names and where in the body each value is."""
    says: str | None = None
    """What the stub model answers. None: a sentence that cites the first passages of its prompt."""
    split: int | None = None
    """Characters of each delta of the stub model. None: words."""
    fault: Fault | None = None
    """Of the stub chat model, for this request."""
    embed_fault: Fault | None = None
    only: str = ""
    """The configuration that sends it; "": both."""
    until: tuple[str, object] | None = None
    """Ask again until this place in the body has this value: for work that goes on after its 202."""


def get(name: str, path: str, key: str = "home", **more: Any) -> Ask:
    return Ask(name=name, method="GET", path=path, key=key, **more)


def delete(name: str, path: str, key: str = "home", **more: Any) -> Ask:
    return Ask(name=name, method="DELETE", path=path, key=key, **more)


def post(name: str, path: str, body: Any = None, key: str = "home", **more: Any) -> Ask:
    return Ask(name=name, method="POST", path=path, key=key, json=body, **more)


def put(name: str, path: str, body: Any, key: str = "home", **more: Any) -> Ask:
    return Ask(name=name, method="PUT", path=path, key=key, json=body, **more)


def patch(name: str, path: str, body: Any, key: str = "home", **more: Any) -> Ask:
    return Ask(name=name, method="PATCH", path=path, key=key, json=body, **more)


CONTROLS = frozenset({"key", "save", "says", "split", "fault", "embed_fault", "only", "headers"})
"""Keyword arguments below that are the request's; all others are fields of the body."""


def _told(path: str, name: str, body: dict[str, Any], fields: dict[str, Any]) -> Ask:
    """POST to `path`: fields of the body and of the request in one call."""
    more = {key: fields.pop(key) for key in list(fields) if key in CONTROLS}
    return post(name, path, body | fields, **more)


def chat(name: str, message: str, **fields: Any) -> Ask:
    """POST /api/chat in session `boat`, one JSON object, in a thread of its own: an answer that changes does
    not change the history of others."""
    body = {"message": message, "session_id": "boat", "thread_id": name, "stream": False}
    return _told("/api/chat", name, body, fields)


def rag(name: str, message: str, **fields: Any) -> Ask:
    """POST /rag/query for ada, in a thread of its own."""
    return _told("/rag/query", name, {"user_id": "ada", "message": message, "thread_id": name}, fields)


def vantage(name: str, message: str, **fields: Any) -> Ask:
    """POST /vantage/query for ada, in a thread of its own."""
    return _told("/vantage/query", name, {"user_id": "ada", "message": message, "thread_id": name}, fields)


def upload(name: str, filename: str, content: bytes, key: str = "home", **form: str) -> Ask:
    """POST /api/documents; the document's id is kept as `name`."""
    where = ({} if "scope" in form else {"session_id": "boat"}) | {"wait": "120"} | form
    return Ask(
        name=name,
        method="POST",
        path="/api/documents",
        key=key,
        form=where,
        file=(filename, content),
        save=name.replace("-", "_"),
    )
