"""What each project shows the model: profiles of sections, and rows rendered as Markdown entries.

A profile (an entry of PROFILES; names are case-sensitive, as in SQL) lists sections: source, choice, limit,
heading and the form of a row. Only text that would break the format is escaped, visibly (CommonMark §2.4); a
code fence is longer than any in its code. Cuts count characters of the stored column, allowances o200k
tokens; time is bounded. Nothing here raises. Source: docs/contract.md, docs/adr/0019.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import islice

from app.text.sanitise import sanitise_text
from app.types import CODE, CONVERSATIONS, DREAMS, Candidate, Degraded, Passage, Reason

NAME_CUT = 300
"""Characters of values that are shown in full (titles, paths, tags): a hostile one may have 10 MB."""


class SectionChoice(StrEnum):
    """How a section's passages are chosen."""

    NEWEST = "newest"
    """By time, without the message."""
    NEAREST = "nearest"
    """By cosine alone: no threshold."""
    FUSED = "fused"
    """By lexical and dense retrieval; matches only, most relevant first."""


class ColumnKind(StrEnum):
    """A column's content, and so its rendering."""

    NAME = "name"
    NAMES = "names"
    """A JSON list, comma-joined."""
    PROSE = "prose"
    """Lines, escaped if they look like part of the format."""
    SYMBOL = "symbol"
    """JSON that may name a function or a class; otherwise the path is shown."""
    CODE = "code"
    """A fenced block in the row's language."""


@dataclass(frozen=True, slots=True)
class Column:
    column: str
    shown: str = "{}"
    cut: int = NAME_CUT
    kind: ColumnKind = ColumnKind.NAME
    instead: str = ""
    """Column that is shown if the first is empty."""


Form = tuple[Column, ...]
"""A row's lines, in order."""


@dataclass(frozen=True, slots=True)
class Section:
    source: str
    """Conversations, code or dreams."""
    choice: SectionChoice
    limit: int
    """Default number of entries."""
    heading: str
    form: Form
    noun: str
    """Name of its entries in notes."""
    note: str
    """Note with {count}. Notes have no singular."""
    most: int = 0
    """Most entries that a request's top_k may ask for; 0: top_k is ignored."""
    between: str = "\n\n"
    """Between two entries."""
    tokens: int = 0
    """Most tokens of an entry; longer ones are cut. 0: only the cuts apply."""

    optional: bool = False
    """True if most projects have none: no note if nothing was found."""

    def wanted(self, top_k: int | None) -> int:
        """Number of entries for a request: at most `most`; the default for top_k below 1."""
        if not self.most or top_k is None or top_k < 1:
            return self.limit
        return min(top_k, self.most)


LEAD = re.compile(r"[ \t>]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t][ \t>]*+)*+")
"""Indentation, quotes and list marks: structure after them is still structure."""
TAIL = re.compile(r"[ \t]*+(?:-(?:[ \t]*+-){2,}+|\*(?:[ \t]*+\*){2,}+|_(?:[ \t]*+_){2,}+)")
"""A thematic break at the end of a line, reversed; also valid after a list mark."""
RULE = re.compile(r"[ \t>]*+(?:(?:[-=][ \t]*+)++|(?:[*_][ \t]*+){3,}+)$")
"""A line that is a break, or makes the line above it a heading (CommonMark §4.1, §4.3)."""
STRUCTURE = re.compile(
    r"#{1,6}(?:[ \t]|$)|`{3}|~{3}|<(?:[!?]|(?:script|pre|style|textarea)\b)"
    r"|(?:\*\*|__)(?:Title|Tags|Key Entities|Summary|Memory Snippet|File|Language|Description)\b"
    r"|(?:\*\*|__)(?:Dream|Key Details)\b",
    re.IGNORECASE,
)
"""Headings, fences, HTML blocks (§4.2, §4.5, §4.6), our fields. Blocks of a prompt and label lines are not
part of this format: the chat escapes them (answering/prompt.py)."""
TICKS = re.compile(r"`{3,}+")


def cut_text(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most] + "..."


def name(text: str, most: int) -> str:
    short = cut_text(text, most)
    lines = short.splitlines()
    return sanitise_text(
        short if lines == [short] else " ".join(line.strip() for line in lines if line.strip())
    )


def prose(text: str, most: int) -> str:
    """Lines of prose with structure escaped. The first follows a field's name."""
    lines = sanitise_text(broken(cut_text(text, most))).split("\n")
    filled = [at for at, line in enumerate(lines) if line.strip()]
    if not filled:
        return ""
    first, *rest = lines[filled[0] : filled[-1] + 1]
    return "\n".join([first, *map(tame, rest)])


def escape_code(text: str, most: int, language: str) -> str:
    """A fenced block that nothing in it can close."""
    shown = sanitise_text(broken(cut_text(text, most)))
    fence = "`" * max(3, 1 + max(map(len, TICKS.findall(shown)), default=0))
    # A backtick after the fence would invalidate it (CommonMark §4.5).
    info = language.replace("`", "'")
    return f"{fence}{info}\n{shown}\n{fence}"


def tame(line: str) -> str:
    """A line of prose with structure escaped."""
    lead = LEAD.match(line)
    at = lead.end() if lead else 0
    if RULE.match(line):
        at = len(line) - len(line.lstrip(" \t>"))
    elif (tail := TAIL.match(line[::-1])) and LEAD.fullmatch(line, 0, len(line) - tail.end()):
        at = len(line) - tail.end()
    elif not STRUCTURE.match(line, at):
        return line
    return f"{line[:at]}\\{line[at:]}"


def broken(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


JSON_MOST = 100_000
"""Characters of JSON that are read."""
ITEMS_MOST = 200
"""Items of a list that are read: more than fit into NAME_CUT characters."""
STEPS = 6
"""Halvings in search of the longest cut that is allowed; each counts an entry."""

Row = Mapping[str, object]


def entry(form: Form, row: Row, share: float = 1.0) -> str:
    """The row's lines without surrounding line breaks; "" for an empty row. `share`: of each cut."""
    return "\n".join(line for each in form if (line := written(each, row, int(each.cut * share))))


def fitted(form: Form, row: Row, most: int, count: Callable[[str], int]) -> str:
    """The same in at most `most` tokens, with all cuts shortened alike; 0: no limit."""

    def fits(text: str) -> bool:
        # A token has at least one byte, so short texts are not counted.
        return len(text.encode(errors="replace")) <= most or count(text) <= most

    text = entry(form, row)
    if not most or fits(text):
        return text
    least, share = 0.0, 1.0
    for _ in range(STEPS):
        middle = (least + share) / 2
        least, share = (middle, share) if fits(entry(form, row, middle)) else (least, middle)
    return entry(form, row, least)


def written(line: Column, row: Row, cut: int) -> str:
    """One line, or several of prose or code; "" for an empty column."""
    if line.kind is ColumnKind.CODE:
        return block(row.get(line.column), row, cut)
    shown = told(line.kind, row.get(line.column), cut)
    if not shown and line.instead:
        other = ColumnKind.NAME if line.kind is ColumnKind.SYMBOL else line.kind
        shown = told(other, row.get(line.instead), cut)
    return line.shown.format(shown) if shown else ""


def told(kind: ColumnKind, value: object, cut: int) -> str:
    """A column other than code; "" if it is empty."""
    if kind is ColumnKind.NAMES:
        return names(value, cut)
    if kind is ColumnKind.SYMBOL:
        return symbol(value, cut)
    if kind is ColumnKind.PROSE:
        return prose(value, cut) if isinstance(value, str) else ""
    return text(value, cut)


def text(value: object, cut: int) -> str:
    return name(value, cut) if isinstance(value, str) and not value[: cut + 1].isspace() else ""


def block(value: object, row: Row, cut: int) -> str:
    if not isinstance(value, str) or not value[: cut + 1].strip():
        return ""
    return escape_code(value, cut, text(row.get("language"), min(cut, NAME_CUT)))


def names(value: object, cut: int) -> str:
    found = parsed(value)
    items = found if isinstance(found, list | tuple) else ()
    return cut_text(", ".join(listed(islice(items, ITEMS_MOST), cut)), cut)


def listed(items: Iterator[object], cut: int) -> Iterator[str]:
    for each in items:
        item = each.get("name") if isinstance(each, Mapping) else each
        if isinstance(item, str | int | float) and not isinstance(item, bool) and str(item).strip():
            yield name(str(item), cut)


def symbol(value: object, cut: int) -> str:
    found = parsed(value)
    told = found if isinstance(found, Mapping) else {}
    return text(told.get("function_name"), cut) or text(told.get("class_name"), cut)


def parsed(value: object) -> object:
    """JSON in a string, encoded once or twice; None if invalid. Other values unchanged."""
    for _ in range(2):
        if not isinstance(value, str):
            return value
        if len(value) > JSON_MOST:
            return None
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return value


CONVERSATION: Form = (
    Column("title", "- **Title:** {}"),
    Column("tags", "- **Tags:** {}", kind=ColumnKind.NAMES),
    Column("key_entities", "- **Key Entities:** {}", kind=ColumnKind.NAMES),
    Column("summary_detailed", "- **Summary:** {}", 500, ColumnKind.PROSE),
    Column("memory_snippet", "- **Memory Snippet:** {}", 300, ColumnKind.PROSE),
)
SNIPPET: Form = (
    Column("file_path", "**File:** {}"),
    Column("language", "**Language:** {}"),
    Column("chunk_metadata", "**Description:** {}", kind=ColumnKind.SYMBOL, instead="file_path"),
    Column("chunk_text", cut=1000, kind=ColumnKind.CODE),
)
THN_SECTIONS = (
    Section(
        CONVERSATIONS,
        SectionChoice.NEWEST,
        5,
        "### History & Context: Last 5 Conversations",
        CONVERSATION,
        noun="conversations",
        note="Retrieved {count} conversations from conversation_index",
    ),
    Section(
        CODE,
        SectionChoice.NEAREST,
        5,
        "### Relevant Code Snippets",
        SNIPPET,
        noun="code chunks",
        note="Retrieved {count} code chunks via vector similarity search",
    ),
)


DREAM: Form = (
    Column("title", "**Dream: {}**"),
    Column("summary_short", "- **Summary**: {}", 300, ColumnKind.PROSE),
    Column("memory_snippet", "- **Key Details**: {}", 200, ColumnKind.PROSE),
)
DAAS_SECTIONS = (
    Section(
        DREAMS,
        SectionChoice.NEAREST,
        3,
        "### Related Dreams for Analysis",
        DREAM,
        noun="dreams",
        note="Retrieved {count} dreams via vector similarity search",
        most=5,
        between="\n\n---\n\n",
        # Three stay under 1,000 with heading and separators, even in scripts with a token per character.
        tokens=320,
    ),
)

SHOWN = tuple(
    replace(line, instead="summary_short") if line.column == "summary_detailed" else line
    for line in CONVERSATION
)
"""As THN's, but a short summary replaces a missing long one: rows of other projects may have no other."""


def talk(limit: int = 5, source: str = CONVERSATIONS) -> Section:
    """The conversations (or dreams) that match a message."""
    return Section(
        source,
        SectionChoice.FUSED,
        limit,
        "### Related Conversations",
        SHOWN,
        noun="conversations",
        note="Retrieved {count} conversations by words and meaning",
        most=40,
    )


def code(limit: int = 8) -> Section:
    """The code that matches a message."""
    return Section(
        CODE,
        SectionChoice.FUSED,
        limit,
        "### Relevant Code Snippets",
        SNIPPET,
        noun="code chunks",
        note="Retrieved {count} code chunks by words and meaning",
        most=40,
        optional=True,
    )


THN, DAAS = "THN", "DAAS"


@dataclass(frozen=True, slots=True)
class Profile:
    name: str
    sections: tuple[Section, ...] = (talk(), code())
    """In the order shown."""
    dreams: bool = False
    """True if its rows of conversation_index are dreams."""
    silent: bool = False
    """True if a database failure adds no note."""

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(section.source for section in self.sections))


PROFILES: Mapping[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile(THN, THN_SECTIONS, silent=True),
        Profile(DAAS, DAAS_SECTIONS, dreams=True),
        Profile("IBID", (code(8), talk(5))),
    )
}
"""By name. A project that shows only knowledge, conversations and code needs no entry."""


DREAMING = tuple(name for name, profile in PROFILES.items() if profile.dreams)
"""Projects whose conversations are dreams."""


def profile_of(name: str) -> Profile:
    return PROFILES.get(name) or Profile(name)


def default_of(profile: Profile) -> Profile:
    """Used if a project's own profile fails unexpectedly: its conversations, by fused retrieval."""
    return Profile(profile.name, (talk(source=DREAMS if profile.dreams else CONVERSATIONS),))


BREAK = "\n\n"
"""Between a heading and its entries, and between sections: one blank line."""


@dataclass(frozen=True, slots=True)
class Item:
    candidate: Candidate
    """`words` is None except in a fused section."""
    text: str
    """As shown: cut, without surrounding line breaks, structure and template marks escaped. Lines that look
    like a prompt's are escaped by the chat (`answering/prompt.py`)."""

    @property
    def passage(self) -> Passage:
        return self.candidate.passage


@dataclass(frozen=True, slots=True)
class ShownSection:
    section: Section
    items: tuple[Item, ...] = ()
    """In the order shown: newest, most similar or most relevant first."""
    left: tuple[Candidate, ...] = ()
    """Not shown: below the threshold, a duplicate, over the section's limit, or empty."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """A project's context before the budget."""

    profile: Profile
    parts: tuple[ShownSection, ...]
    """In the profile's order, those without items too."""
    reason: Reason
    """ok, empty, no_match, timeout or unavailable, in the order of docs/contract.md."""
    degraded: tuple[Degraded, ...] = ()
    """Sources (or the embedding) that failed."""
    notes: tuple[str, ...] = ()
    """For example "Retrieved 3 dreams via vector similarity search"."""
    cached: bool = False
    """True if a fused section came from the cache."""
    took_ms: int = 0
    sources: Mapping[str, str] = field(default_factory=dict)
    """How the nearest of each source in a fused section were found (`Found.sources`)."""

    @property
    def items(self) -> tuple[Item, ...]:
        return tuple(item for part in self.parts for item in part.items)

    @property
    def context(self) -> str:
        return rendered(self.parts)


def row_of(passage: Passage) -> dict[str, object]:
    return {"chunk_text": passage.text, **passage.fields}


def rendered(parts: Sequence[ShownSection]) -> str:
    """Sections with their headings, one blank line apart; those without items are left out."""
    return BREAK.join(
        part.section.heading + BREAK + part.section.between.join(item.text for item in part.items)
        for part in parts
        if part.items
    )
