"""What is recorded of a response, and how two records are compared.

What differs from run to run is replaced: ids by names that tell where they first appeared (`<ferry>` or
`<chat-basic.answer_id>`, so that one id more in a reply renames nothing elsewhere), times of the run by
`<time>`, durations by `<ms>`. Scores are rounded to three digits and compared as numbers, so that none flips
at the edge of its rounding. Whether a search came from the cache is recorded only for requests whose name
ends in `-repeated`, which follow the same search at once: elsewhere work in the background may have emptied
it.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from difflib import SequenceMatcher
from typing import Any, TypeAlias

Entry: TypeAlias = dict[str, Any]
"""One request: name, request, status, headers, body, and the prompts that the model saw meanwhile."""

HEADERS = (
    "allow",
    "accept-ranges",
    "cache-control",
    "content-disposition",
    "content-range",
    "content-security-policy",
    "content-type",
    "location",
    "retry-after",
    "www-authenticate",
    "x-accel-buffering",
)
DIGITS, TOLERANCE = 3, 1.5e-3
"""Of scores."""
LONGEST, KEPT = 4_000, 700
"""Characters of a text that is recorded whole; of a longer one its beginning and its end, and its hash."""

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
OPAQUE = re.compile(rf"{UUID}|\b[0-9a-f]{{64}}\b|(?<=#)[0-9a-z]{{8}}\b")
TIME = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.\d+)?(Z|[+-]\d\d:\d\d)?")
WEEKDAY = re.compile(r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (?=\d{4}-\d\d-\d\d\b)")
DAY = re.compile(r"\b\d{4}-\d\d-\d\d\b(?![T ]\d\d:)")
MONTHS = [date(2000, month, 1).strftime("%B") for month in range(1, 13)]
SPOKEN = re.compile(rf"\b(\d{{1,2}}) ({'|'.join(MONTHS)}) (\d{{4}})\b")
PORT = re.compile(r"(?<=127\.0\.0\.1:)\d+")
CURSOR = re.compile(r"[A-Za-z0-9_-]{16,}")
CHANCE = {"took_ms": "<ms>", "ms": "<ms>", "seconds_since": "<seconds>", "connections": "<number>"}
CHANCE |= dict.fromkeys(("created", "created_at"), "<seconds>")
"""Numbers that no two runs share."""
NIL = "0192f0c0-0000-7000-8000-000000000000"
"""An id that the script makes up."""


@dataclass
class Names:
    """The names of everything that no two runs share. One for a whole run."""

    start: datetime
    days: tuple[int, ...] = ()
    """Days before the start that the script refers to."""
    known: dict[str, str] = field(default_factory=lambda: {NIL: NIL})
    here: str = ""
    """The request that is being recorded."""

    def name(self, raw: str, key: str) -> str:
        """The name of an opaque value; of a new one where it is now."""
        if raw not in self.known:
            taken = set(self.known.values())
            base = f"{self.here}.{key}"
            free = (f"<{base}:{n}>" if n > 1 else f"<{base}>" for n in range(1, 10_000))
            self.known[raw] = next(name for name in free if name not in taken)
        return self.known[raw]

    def value(self, value: Any, key: str = "value") -> Any:
        """A JSON value with every such thing replaced."""
        match value:
            case dict():
                if key == "timings":
                    return dict.fromkeys(sorted(value), "<ms>")
                return {self.text(name, "key"): self.value(value[name], name) for name in sorted(value)}
            case list() if key == "pieces":  # how deltas were grouped is chance
                return [sum(value)]
            case list():
                return [self.value(item, key) for item in value]
            case str() if key == "id" and value.isdigit():
                return "<row>"
            case str():
                return shortened(self.text(value, key))
            case bool() if key == "cached" and not self.here.endswith("-repeated"):
                return "<true or false>"
            case bool() | None:
                return value
            case int() | float() if key in CHANCE:
                return CHANCE[key]
            case float():
                return round(value, DIGITS)
        return value

    def tie(self, found: Any) -> None:
        """Name the short id of every label in a JSON value as the id of what it stands for."""
        if isinstance(found, list):
            for item in found:
                self.tie(item)
        if not isinstance(found, dict):
            return
        for name in sorted(found):
            self.tie(found[name])
        label, whole = str(found.get("label")), str(found.get("id")).rpartition("/")[2]
        short = label.rpartition("#")[2]
        if re.fullmatch(UUID, whole) and re.fullmatch(r"[0-9a-z]{8}", short):
            self.known.setdefault(short, self.name(whole, "id"))

    def text(self, text: str, key: str) -> str:
        """A text with ids, times, ports and cursors replaced."""
        if key in {"next", "cursor"} and CURSOR.fullmatch(text) and not re.fullmatch(UUID, text):
            return "<cursor>"
        text = OPAQUE.sub(lambda found: self.name(found[0], key), text)
        text = TIME.sub(self.moment, WEEKDAY.sub("", text))
        text = DAY.sub(lambda found: self.day(found[0], date.fromisoformat(found[0])), text)
        text = SPOKEN.sub(
            lambda found: self.day(found[0], date(int(found[3]), MONTHS.index(found[2]) + 1, int(found[1]))),
            text,
        )
        return PORT.sub("<port>", text)

    def moment(self, found: re.Match[str]) -> str:
        """A time of this run, or of a day that the script counts back to, keeping how its zone is written."""
        zone = found[3] or ""
        at = datetime.fromisoformat(f"{found[1]}T{found[2]}{zone.replace('Z', '+00:00') or '+00:00'}")
        if abs(at - self.start) < timedelta(hours=6):
            return f"<time>{zone}"
        for days in self.days:
            if abs(at - (self.start - timedelta(days=days))) < timedelta(seconds=2):
                return f"<{days} days ago>{zone}"
        return found[0]

    def day(self, written: str, day: date) -> str:
        today = self.start.date()
        if abs(day - today) <= timedelta(days=1):
            return "<today>"
        for days in self.days:
            if day == (self.start - timedelta(days=days)).date():
                return f"<date {days} days ago>"
        return written


def shortened(text: str) -> str:
    """A long text by its ends and its hash."""
    if len(text) <= LONGEST:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
    return f"{text[:KEPT]} <… {len(text)} characters, sha256 {digest} …> {text[-KEPT:]}"


def now() -> datetime:
    """The clock, to the second."""
    return datetime.now(UTC).replace(microsecond=0)


def events(text: str) -> list[dict[str, Any]]:
    """The events of an SSE stream; tokens that follow one another as one, for how a model's deltas are
    grouped is chance. `ids` says whether they count from 1 under the answer's id."""
    found: list[dict[str, Any]] = []
    ids: list[str] = []
    for block in text.split("\n\n"):
        lines = [line for line in block.split("\n") if line and not line.startswith(":")]
        if not lines:
            continue
        fields = dict(line.split(": ", 1) for line in lines if ": " in line)
        data = parsed(fields.get("data", ""))
        ids.append(fields.get("id", ""))
        event = {"event": fields.get("event", ""), "data": data}
        last = found[-1] if found else {}
        if isinstance(data, dict) and data.get("type") == "text-delta" == last.get("data", {}).get("type"):
            last["data"]["delta"] += data["delta"]
        elif event["event"] == "token" == last.get("event") and set(data) == set(last["data"]) == {"text"}:
            last["data"]["text"] += data["text"]
        else:
            found.append(event)
    if not any(ids):  # of a protocol without them
        return found
    answer = ids[0].rpartition(":")[0]
    counted = ids == [f"{answer}:{n}" for n in range(1, len(ids) + 1)]
    return [*found, {"event": "(ids)", "data": "counted from 1" if counted else ids}]


def parsed(text: str) -> Any:
    """JSON, or the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def operations(document: dict[str, Any]) -> dict[str, str]:
    """An OpenAPI document in a line an operation: what it is called with, and what it may answer."""
    schemas = document.get("components", {}).get("schemas", {})
    found: dict[str, str] = {}
    for path, methods in document.get("paths", {}).items():
        for method, operation in methods.items():
            parameters = sorted(f"?{each['name']}" for each in operation.get("parameters", []))
            fields = sorted(
                name
                for content in operation.get("requestBody", {}).get("content", {}).values()
                for option in content["schema"].get("anyOf", [content["schema"]])
                for name in schemas.get(option.get("$ref", "").rpartition("/")[2], option).get(
                    "properties", {}
                )
            )
            takes = " ".join(dict.fromkeys([*parameters, *fields]))
            answers = " ".join(sorted(operation["responses"]))
            found[f"{method.upper()} {path}"] = f"{operation.get('operationId')}: {takes} -> {answers}"
    return found


@dataclass(frozen=True)
class Difference:
    """One place at which two records differ. `MISSING` where one of them has nothing."""

    name: str
    path: str
    before: Any
    after: Any


MISSING = "(not there)"


def differences(before: list[Entry], after: list[Entry]) -> list[Difference]:
    """Between two records, by request, in the order of the later one."""
    first, second = ({entry["name"]: entry for entry in record} for record in (before, after))
    found: list[Difference] = []
    for name in dict.fromkeys([*second, *first]):
        if name not in first or name not in second:
            found.append(
                Difference(
                    name,
                    "request",
                    first.get(name, {}).get("request", MISSING),
                    second.get(name, {}).get("request", MISSING),
                )
            )
        else:
            found += [
                Difference(name, path, old, new) for path, old, new in places(first[name], second[name])
            ]
    return found


def places(before: Any, after: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """(path, before, after) of each leaf at which two values differ."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in sorted(before.keys() | after.keys()):
            inside = f"{path}.{name}".lstrip(".")
            yield from places(before.get(name, MISSING), after.get(name, MISSING), inside)
    elif isinstance(before, list) and isinstance(after, list):
        for where, old, new in aligned(before, after):
            yield from places(old, new, f"{path}.{where}".lstrip("."))
    elif not same(before, after):
        yield path, before, after


def aligned(before: list[Any], after: list[Any]) -> Iterator[tuple[str, Any, Any]]:
    """(place, before, after) of items that belong together; what one list alone has is at `+3` or `-3`."""
    first, second = ([json.dumps(item, sort_keys=True) for item in side] for side in (before, after))
    blocks = SequenceMatcher(None, first, second, autojunk=False).get_opcodes()
    if len(before) == len(after):
        blocks = [("replace", 0, len(before), 0, len(after))]
    for _, start, end, other, last in blocks:
        both = min(end - start, last - other)
        for n in range(both):
            yield str(other + n), before[start + n], after[other + n]
        for n in range(start + both, end):
            yield f"-{n}", before[n], MISSING
        for n in range(other + both, last):
            yield f"+{n}", MISSING, after[n]


def same(before: Any, after: Any) -> bool:
    """True if two leaves are the same; floats within the tolerance."""
    numbers = all(type(value) in {int, float} for value in (before, after))
    if numbers and float in {type(before), type(after)}:
        return bool(abs(before - after) <= TOLERANCE)
    return type(before) is type(after) and bool(before == after)
