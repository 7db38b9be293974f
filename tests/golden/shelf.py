"""The records as files: pretty JSON, so that a change of one shows line by line in a review."""

import json
from pathlib import Path

from tests.golden.record import Entry

FOLDER = Path(__file__).parent


def place(record: str, configuration: str) -> Path:
    """Where a record is: `first/stub.json`."""
    return FOLDER / record / f"{configuration}.json"


def read(record: str, configuration: str) -> list[Entry]:
    entries: list[Entry] = json.loads(place(record, configuration).read_text())
    return entries


def write(record: str, configuration: str, entries: list[Entry]) -> Path:
    path = place(record, configuration)
    path.parent.mkdir(exist_ok=True)
    lines = ",\n".join(json.dumps(entry, ensure_ascii=False, indent=1) for entry in entries)
    path.write_text(f"[\n{lines}\n]\n")
    return path
