"""What was gathered for one message of a project: its sections, each item with the text it is shown as.

Whoever budgets leaves items out and joins the rest with `rendered`: the text is `Gathered.context` when none
is left out. Nothing here raises.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from app.domain.passage import Candidate, Passage
from app.domain.trace import Degraded, Reason, Verdict
from app.projects.profile import Profile
from app.projects.section import Section

BREAK = "\n\n"
"""Between a heading and its entries, and between sections: one blank line."""


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of a section."""

    candidate: Candidate
    """`words` is None but in a fused section."""
    text: str
    """As it is shown: cut, without a line break at either end, and escaped: nothing in it is structure or a
    chat template's mark. What could pass for a line of a prompt the chat escapes (`domain/sections.py`)."""

    @property
    def passage(self) -> Passage:
        """What it was made of: label, id, source, similarity (None where time chose)."""
        return self.candidate.passage


@dataclass(frozen=True, slots=True)
class Part:
    """A section and what is shown in it."""

    section: Section
    items: tuple[Item, ...] = ()
    """In the order shown: newest first, or most similar first, or most relevant first."""
    left: tuple[tuple[Candidate, Verdict], ...] = ()
    """Seen and not shown: below the threshold, a duplicate, over the section's limit, nothing to show."""

    @property
    def text(self) -> str:
        """Heading and entries; "" without entries."""
        return rendered([self])


@dataclass(frozen=True, slots=True)
class Gathered:
    """A project's context, not yet budgeted."""

    profile: Profile
    parts: tuple[Part, ...]
    """In the profile's order, those without items too."""
    reason: Reason
    """ok, empty, no_match, timeout or unavailable, by CONTRACT §1's precedence."""
    degraded: tuple[Degraded, ...] = ()
    """Sources (or the embedding) that did not do their part."""
    notes: tuple[str, ...] = ()
    """As the seeds' examples: "Retrieved 3 dreams via vector similarity search"."""
    cached: bool = False
    """A fused section came from a finished retrieval."""
    took_ms: int = 0
    sources: Mapping[str, str] = field(default_factory=dict)
    """How the nearest of each source in a fused section were found (`Found.sources`)."""

    @property
    def items(self) -> tuple[Item, ...]:
        """Of all sections, in the order shown."""
        return tuple(item for part in self.parts for item in part.items)

    @property
    def context(self) -> str:
        """The whole text; "" where nothing was found. No wrapper text."""
        return rendered(self.parts)

    def keeping(self, kept: Iterable[Item]) -> "Gathered":
        """The same with these of its items alone, in their places."""
        ids = {(item.passage.source, item.passage.id) for item in kept}
        return replace(self, parts=tuple(only(part, ids) for part in self.parts))


def row_of(passage: Passage) -> dict[str, object]:
    """A passage as the row it was made of; of code the text is the chunk's."""
    return {"chunk_text": passage.text, **passage.fields}


def only(part: Part, ids: set[tuple[str, str]]) -> Part:
    """A section with those of its items that are among `ids` (source, id)."""
    chosen = tuple(item for item in part.items if (item.passage.source, item.passage.id) in ids)
    return replace(part, items=chosen)


def rendered(parts: Sequence[Part]) -> str:
    """Sections with their headings, one blank line apart; those without items are left out."""
    return BREAK.join(
        part.section.heading + BREAK + part.section.between.join(item.text for item in part.items)
        for part in parts
        if part.items
    )
