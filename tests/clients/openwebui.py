"""Open WebUI as a client: a request as it sends it, and its own reading of the stream.

`read` treats each line as `stream_body_handler` in `backend/open_webui/utils/middleware.py` does
(github.com/open-webui/open-webui, commit 000032ed1cfec98667bbf62795b0f8e0c76025b5): text, annotations, usage
and errors. Tools, code, reasoning and filters are left out.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

REQUEST: dict[str, Any] = {
    "stream": True,
    "model": "ibid",
    "messages": [
        {"role": "system", "content": "User Context:\n\n"},
        {"role": "user", "content": "How many crates of apples did the orchard give in 2019?"},
    ],
    "stream_options": {"include_usage": True},
}
HEADERS = {
    "Content-Type": "application/json",
    "Authorization": "Bearer unused",
    "X-OpenWebUI-User-Name": "Ada",
    "X-OpenWebUI-User-Id": "2b1f0c36-6b0e-4a55-9a53-3f6a1c1d2e77",
    "X-OpenWebUI-User-Email": "ada@example.com",
    "X-OpenWebUI-User-Role": "admin",
    "X-OpenWebUI-Chat-Id": "7f0d9c52-8d0b-4b0f-8f5e-0d5a1d1f8c11",
}
"""With ENABLE_FORWARD_USER_INFO_HEADERS."""


@dataclass
class Shown:
    """An answer as the page shows it."""

    content: str = ""
    sources: list[dict[str, Any]] = field(default_factory=list)
    usage: dict[str, Any] = field(default_factory=dict)
    error: dict[str, Any] = field(default_factory=dict)


def read(lines: Iterable[str]) -> Shown:
    shown = Shown()
    for line in lines:
        if not line.strip() or not line.startswith("data:"):
            continue
        data = line[len("data:") :].strip()
        if data == "[DONE]":
            continue
        take(json.loads(data), shown)
    return shown


def take(data: dict[str, Any], shown: Shown) -> None:
    choices = data.get("choices", [])
    usage = data.get("usage", {}) or {}
    usage.update(data.get("timings", {}))
    if usage:
        shown.usage = usage
    if not choices:
        shown.error = data.get("error", {}) or shown.error
        return
    delta = choices[0].get("delta", {})
    for annotation in delta.get("annotations") or ():
        if annotation.get("type") == "url_citation" and "url_citation" in annotation:
            cited = annotation["url_citation"]
            url = cited.get("url", "")
            title = cited.get("title", url)
            source = {"name": title, "url": url}
            metadata = [{"source": url, "name": title}]
            shown.sources.append({"source": source, "document": [title], "metadata": metadata})
    if value := delta.get("content"):
        shown.content += value


def numbered(shown: Shown) -> list[str]:
    """Its list of sources: [n] in the text opens the n-th, where equal addresses are one."""
    return list(dict.fromkeys(one["metadata"][0]["source"] for one in shown.sources))
