"""What schemathesis is given to send: files that are PDFs or nearly, and texts it can think up in time.

Imported by tests/integration/test_openapi.py, and by the command line for long runs:
`SCHEMATHESIS_HOOKS=tests.fakes.offer .venv/bin/st run …` (docs/adr/0001).
"""

from typing import Any

import schemathesis
from hypothesis import strategies as st

from tests.fakes.pdfs import text_pdf

PDFS = [text_pdf("The ferry carries nine barrels of herring."), b"%PDF-1.7\nnothing more", b"just text", b""]
SHORT = {"maxLength": 300, "maxItems": 3}
"""Characters and entries. A hundred thousand of them take a second to think up, and fit the same code."""

schemathesis.openapi.format("binary", st.sampled_from(PDFS))


def shorten(part: Any) -> None:
    """A part of an OpenAPI document with smaller limits: what fits them fits the document too."""
    if isinstance(part, list):
        for item in part:
            shorten(item)
    if isinstance(part, dict):
        part |= {key: min(part[key], most) for key, most in SHORT.items() if isinstance(part.get(key), int)}
        for value in part.values():
            shorten(value)


@schemathesis.hook
def before_load_schema(_: schemathesis.HookContext, raw_schema: dict[str, Any]) -> None:
    """Of every document that is loaded."""
    shorten(raw_schema)
