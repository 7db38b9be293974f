"""What of a project's context is shown: its sections by turns, while the block with it stays in budget.

No threshold: what a section shows its profile says (seeds 000 and 001 take the nearest, or the newest). Of a
short message that resembles nothing (CONTRACT §1, skip rule) only the sections by time are shown, for they
never looked at it. Taken are the first of each section, then the second of each, and so on: neither budget
nor top_k starves a section. An item that is too long is passed over. Tokens are those of the model that
answers. Pure but for their count; docs/decisions/0044.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, zip_longest

from app.domain.budget import Meter
from app.domain.passage import Candidate, Passage
from app.domain.recall import judged
from app.domain.recipe import FORMS, Recipe
from app.domain.relevance import skipped
from app.domain.sections import PROJECT, entry
from app.domain.selection import Selection, noted
from app.domain.trace import Reason, Verdict
from app.projects.entry import fitted, symbol
from app.projects.gathered import Gathered, Item, Part, row_of
from app.projects.profile import profile_of
from app.projects.section import NAME_CUT, Choice, Section
from app.services.ask import Ask

Key = tuple[str, str]
"""Source and id."""
Judged = tuple[Candidate, Verdict]

TOKEN_BYTES = 128
"""A token of o200k is no longer: what is certainly over the budget is not even counted."""


def chosen(ask: Ask, gathered: Gathered, budget: int, threshold: float, meter: Meter) -> Selection:
    """The items in prompt order, and the ledger of all that was seen."""
    short = curt(ask.message, gathered.parts, threshold)
    offered, verdicts = offers(gathered.parts, short=short)
    packed, over = fitting(offered, budget, ask.top_k, meter)
    cut = Verdict.OVER_LIMIT if len(packed) == ask.top_k else Verdict.OVER_BUDGET
    ledger = [
        *((item, Verdict.PACKED) for item in packed),
        *((item, cut) for item in over),
        *verdicts,
        *((scored(left, part.section), verdict) for part in gathered.parts for left, verdict in part.left),
    ]
    entries = tuple(noted(item, verdict) for item, verdict in ledger)
    return Selection(tuple(item.passage for item in packed), entries, short)


def sought(part: Part) -> bool:
    """Whether its items were looked for; else they are the newest, whatever was said."""
    return part.section.choice is not Choice.NEWEST


def curt(message: str, parts: Sequence[Part], threshold: float) -> bool:
    """Whether the message is too short for what was found by it."""
    found = [item.candidate for part in parts if sought(part) for item in part.items]
    return bool(found) and skipped(message, found, threshold)


def offers(parts: Sequence[Part], *, short: bool) -> tuple[list[list[Candidate]], list[Judged]]:
    """(what each section has to show, what became of the rest): a passage is shown by one section."""
    offered: list[list[Candidate]] = []
    verdicts: list[Judged] = []
    seen = set[Key]()
    for part in parts:
        items = [dressed(part.section, item) for item in part.items]
        if short and sought(part):
            verdicts += judged(items, Verdict.SKIPPED)
            items = []
        first = {key(item): item for item in reversed(items) if key(item) not in seen}
        verdicts += [(item, Verdict.DUPLICATE) for item in items if first.get(key(item)) is not item]
        offered.append([item for item in items if first.get(key(item)) is item])
        seen |= first.keys()
    return offered, verdicts


def key(item: Candidate) -> Key:
    """Which passage it is."""
    return item.passage.source, item.passage.id


def dressed(section: Section, item: Item) -> Candidate:
    """An item as its section shows it, with its score."""
    shown = placed(item.passage, section, item.text)
    return scored(Candidate(shown, item.candidate.words), section)


def scored(item: Candidate, section: Section) -> Candidate:
    """With the score that chose it: where cosine alone did, that is the similarity, from 0 to 1. Time gives
    none."""
    passage = item.passage
    if section.choice is not Choice.NEAREST or passage.similarity is None:
        return item
    return replace(item, passage=replace(passage, score=min(max(passage.similarity, 0.0), 1.0)))


def placed(passage: Passage, section: Section, text: str) -> Passage:
    """A row as its section shows it; code is called what it defines, for its label tells the path."""
    name = symbol(passage.fields.get("chunk_metadata"), NAME_CUT)
    return entry(passage, text, heading=section.heading, between=section.between, name=name)


def entries(
    recipe: Recipe, passages: Mapping[Key, Passage], count: Callable[[str], int]
) -> dict[Key, Passage]:
    """Rows as the project's profile shows them today, where an answer showed them so."""
    if FORMS[recipe.form] is not PROJECT:
        return dict(passages)
    sections = {section.source: section for section in profile_of(recipe.project or "").sections}
    return {
        key: rewritten(passage, sections[passage.source], count) if passage.source in sections else passage
        for key, passage in passages.items()
    }


def rewritten(passage: Passage, section: Section, count: Callable[[str], int]) -> Passage:
    """A row as an entry of its section."""
    return placed(passage, section, fitted(section.form, row_of(passage), section.tokens, count))


def fitting(
    offered: Sequence[Sequence[Candidate]], budget: int, most: int | None, meter: Meter
) -> tuple[list[Candidate], list[Candidate]]:
    """(packed, over) of sections' items, both in the order shown. Counted as the block would be sent, so that
    it is never over."""
    shown = list(chain.from_iterable(offered))
    turns = [item for rank in zip_longest(*offered) for item in rank if item is not None]
    taken = {id(item) for item in turns[:most]}
    if not fits(among(shown, taken), budget, meter):
        taken = by_turns(turns, shown, budget, most, meter)
    return among(shown, taken), [item for item in shown if id(item) not in taken]


def by_turns(
    turns: Iterable[Candidate], shown: Sequence[Candidate], budget: int, most: int | None, meter: Meter
) -> set[int]:
    """As many as fit together, at most `most`; one that is too long is passed over."""
    taken = set[int]()
    for item in turns:
        if most is not None and len(taken) >= most:
            break
        if fits(among(shown, more := taken | {id(item)}), budget, meter):
            taken = more
    return taken


def among(items: Iterable[Candidate], ids: set[int]) -> list[Candidate]:
    """Those of these identities, in their order."""
    return [item for item in items if id(item) in ids]


def fits(items: Sequence[Candidate], budget: int, meter: Meter) -> bool:
    """Whether a block of these stays in budget."""
    if sum(len(item.passage.text) for item in items) > budget * TOKEN_BYTES:
        return False
    return meter(PROJECT.block([item.passage for item in items])) <= budget


def reason(gathered: Gathered, selection: Selection) -> Reason:
    """`rag.reason` in its precedence."""
    if gathered.reason is not Reason.OK:
        return gathered.reason
    if selection.passages:
        return Reason.OK
    return Reason.SKIPPED if selection.short else Reason.NO_MATCH
