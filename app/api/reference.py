"""/docs: the OpenAPI document as a page for people, with an example of every body, event and problem.

FastAPI's own page loads its script from a content network: without one it stays blank, and CSP forbids it.
Pure: a document in, HTML out; everything that comes from the document is escaped.
"""

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any, TypeAlias

Spec: TypeAlias = Mapping[str, Any]

STYLE = """
:root { color-scheme: light dark; --line: #8884; --mark: #8882; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 58rem; margin: 0 auto; padding: 1rem; }
h2 { border-top: 1px solid var(--line); margin-top: 3rem; padding-top: 1rem; }
h3 { margin-top: 2.5rem; } code, pre { font: 13px/1.45 ui-monospace, monospace; }
pre { background: var(--mark); border-radius: 6px; overflow-x: auto; padding: .7rem; white-space: pre-wrap;
  overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; }
td { border-bottom: 1px solid var(--line); padding: .3rem; text-align: left; vertical-align: top; }
summary { cursor: pointer; padding: .15rem 0; }
.method { background: var(--mark); border-radius: 4px; padding: .1rem .4rem; } nav a { display: block; }
"""
STYLE_HASH = "sha256-" + base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()


def rendered(spec: Spec) -> str:
    """The page."""
    info = spec["info"]
    sections = "".join(operation(spec, *found) for found in operations(spec))
    links = "".join(
        f'<a href="#{escape(entry["operationId"])}">{line(method, path)} {escape(entry["summary"])}</a>'
        for method, path, entry in operations(spec)
    )
    title = f"{escape(info['title'])} {escape(info['version'])}"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>'
        f"<body><h1>{title}</h1>{paragraphs(info.get('description', ''))}"
        f'<p>For tools: <a href="/openapi.json">openapi.json</a>.</p><nav>{links}</nav>{sections}'
        "</body></html>"
    )


def operations(spec: Spec) -> Iterator[tuple[str, str, Spec]]:
    """(method, path, operation), in the document's order."""
    for path, entry in spec["paths"].items():
        for method, found in entry.items():
            yield method.upper(), path, found


def line(method: str, path: str) -> str:
    """`POST /api/chat`."""
    return f'<code class="method">{escape(method)}</code> <code>{escape(path)}</code>'


def paragraphs(text: str) -> str:
    """Plain text, a paragraph each blank line."""
    return "".join(f"<p>{escape(part)}</p>" for part in text.split("\n\n") if part.strip())


def operation(spec: Spec, method: str, path: str, found: Spec) -> str:
    """One route: what it does, what it takes, what it answers."""
    head = f'<h2 id="{escape(found["operationId"])}">{line(method, path)} {escape(found["summary"])}</h2>'
    answers = "".join(answer(status, response) for status, response in sorted(found["responses"].items()))
    return (
        head
        + paragraphs(found.get("description", ""))
        + parameters(found.get("parameters", []))
        + body(spec, found.get("requestBody", {}))
        + f"<h3>Answers</h3>{answers}"
    )


def parameters(found: list[Spec]) -> str:
    """Of path, query and headers."""
    if not found:
        return ""
    rows = "".join(
        row(entry["name"], f"{entry['in']}, {limits(entry['schema'])}", entry.get("description", ""))
        for entry in found
    )
    return f"<h3>Parameters</h3><table>{rows}</table>"


def row(name: str, kind: str, said: str) -> str:
    """One field."""
    return f"<tr><td><code>{escape(name)}</code></td><td>{escape(kind)}</td><td>{escape(said)}</td></tr>"


def limits(schema: Spec) -> str:
    """A schema in a few words: `integer, minimum 1`."""
    options = [entry for entry in schema.get("anyOf", [schema]) if entry.get("type") != "null"]
    shown = options[0] if options else schema
    kind = shown.get("type") or shown.get("$ref", "value").rpartition("/")[2]
    keys = ("enum", "const", "minLength", "maxLength", "minimum", "maximum", "maxItems", "pattern")
    said = [f"{key} {shown[key]}" for key in keys if key in shown]
    default = [f"default {schema['default']}"] if schema.get("default") not in (None, []) else []
    return ", ".join([str(kind), *said, *default])


def body(spec: Spec, found: Spec) -> str:
    """The request's body: its fields and examples."""
    parts = ""
    for media, content in found.get("content", {}).items():
        schema = resolved(spec, content["schema"])
        required = schema.get("required", [])
        rows = "".join(
            row(
                name, limits(field) + (", required" if name in required else ""), field.get("description", "")
            )
            for name, field in schema.get("properties", {}).items()
        )
        parts += f"<h3>Body: {escape(media)}</h3><table>{rows}</table>{examples(content)}"
    return parts


def resolved(spec: Spec, schema: Spec) -> Spec:
    """What a reference stands for; of several forms the first: the others are shown by examples."""
    shown: Spec = schema.get("anyOf", [schema])[0]
    name = shown.get("$ref", "").rpartition("/")[2]
    found: Spec = spec["components"]["schemas"][name] if name else shown
    return found


def answer(status: str, found: Spec) -> str:
    """One status with its examples."""
    shown = "".join(
        f"<p><code>{escape(media)}</code></p>{examples(content)}"
        for media, content in found.get("content", {}).items()
    )
    told = f"<code>{escape(status)}</code> {escape(found.get('description', ''))}"
    return f"<details><summary>{told}</summary>{shown}</details>" if shown else f"<p>{told}</p>"


def examples(content: Spec) -> str:
    """Each example with its name."""
    listed = dict(content.get("examples", {}))
    if "example" in content:
        listed[""] = {"value": content["example"]}
    return "".join(
        f"<p>{escape(entry.get('summary', name))}</p><pre>{escape(text(entry['value']))}</pre>"
        for name, entry in listed.items()
    )


def text(value: object) -> str:
    """A stream as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
