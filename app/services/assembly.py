"""What the model is to see of what was fetched, and how that came to be: blocking, milliseconds.

Message 1 is the system text with the project's overview and rules, message 2 the context, message 3 the
notes, the project's and then the request's (seed 001, Message Ordering; CONTRACT §4). Of knowledge that does
not fit into the model's window a quarter's worth is told. Pure but for the count of tokens, which are those
of the model that answers. Raises `InvalidField` where what must stand in the prompt does not fit.
"""

from bisect import bisect_left
from dataclasses import dataclass, replace

from app.domain.budget import Budget, Meter
from app.domain.errors import InvalidField
from app.domain.found import Found
from app.domain.instructions import (
    SYSTEM,
    SYSTEM_BARE,
    SYSTEM_CROWDED,
    SYSTEM_PROJECT,
    SYSTEM_PROJECT_BARE,
    SYSTEM_PROJECT_CROWDED,
    SYSTEM_SOURCES,
    SYSTEM_SOURCES_BARE,
    SYSTEM_SOURCES_CROWDED,
    SYSTEM_TALK,
)
from app.domain.knowledge import QUARTER, first, knowledge_text, left_out, notes_text, parts_of
from app.domain.overlay import own_words
from app.domain.prompt import BREAK, DOCUMENTS, GREETING, Form, Prompt, Turn
from app.domain.ranking import dedupe
from app.domain.recipe import KNOWLEDGE, NOTES, Block, Kind, Recipe, Ref, block, recipe_of, sha256
from app.domain.room import Limits, answered, share
from app.domain.sections import PROJECT
from app.domain.selection import Selection, select
from app.domain.trace import Reason, Trace, Verdict
from app.projects.gathered import Gathered
from app.services.ask import DEFAULT_SOURCES, Ask
from app.services.material import Material
from app.services.projected import chosen, reason
from app.services.retrieval import VERSION

DOCUMENTED = (SYSTEM, SYSTEM_BARE, SYSTEM_CROWDED)
SOURCED = (SYSTEM_SOURCES, SYSTEM_SOURCES_BARE, SYSTEM_SOURCES_CROWDED)
PROJECTED = (SYSTEM_PROJECT, SYSTEM_PROJECT_BARE, SYSTEM_PROJECT_CROWDED)
"""System texts: with passages, without, and where there is no room for them."""


@dataclass(frozen=True, slots=True)
class Assembled:
    """A prompt, and how it came to be."""

    prompt: Prompt
    trace: Trace
    """Its tokens are not counted yet."""
    meter: Meter
    recipe: Recipe


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands around the context."""

    texts: tuple[str, str, str]
    opening: str
    """The project's overview and rules."""
    notes: tuple[str, ...]
    """The project's in one, then the request's."""
    turns: tuple[Turn, ...]
    budget: int
    """Tokens left for the context block."""
    told: str = ""
    """How many parts of the knowledge had room; "": all."""


def assemble(ask: Ask, material: Material, limits: Limits, meter: Meter) -> Assembled:
    """Candidates -> passages -> prompt, with the ledger of how. `meter` is of `form_of(ask)`."""
    frame = framed(ask, material, limits, meter)
    selection, why = selected(ask, material.found, frame, limits, meter)
    prompt = Prompt(
        SYSTEM_TALK if why is Reason.SMALL_TALK else told(selection, frame.texts),
        ask.message,
        selection.passages,
        frame.notes,
        frame.turns,
        (frame.opening,) if frame.opening else (),
        GREETING if why is Reason.SMALL_TALK else form_of(ask),
        why,
    )
    found = material.found
    trace = Trace(
        reason=why,
        entries=selection.entries,
        degraded=(*found.degraded, *material.lost),
        cached=found.cached,
        budget=frame.budget,
        took_ms=found.took_ms,
        sources=found.sources,
        searched=material.text if material.text != ask.message else "",
        told=(*found.notes, *filter(None, (missing(material, frame),))),
    )
    before, notes = blocks(ask, frame)
    recipe = recipe_of(prompt, ranking=VERSION, before=before, notes=notes, project=ask.scope.project)
    return Assembled(prompt, trace, meter, recipe)


def form_of(ask: Ask) -> Form:
    """How the prompt is written down."""
    return PROJECT if ask.projected else DOCUMENTS


def texts_of(ask: Ask) -> tuple[str, str, str]:
    """The system texts that are true of what is searched."""
    if ask.projected:
        return PROJECTED
    return DOCUMENTED if ask.searched == DEFAULT_SOURCES else SOURCED


def framed(ask: Ask, material: Material, limits: Limits, meter: Meter) -> Frame:
    """All that stands in the prompt whatever is found, and the room that it leaves. Of knowledge that would
    leave none (older than its limit, or the window smaller than then) the first parts stay."""

    def crowded(parts: int) -> bool:
        known = first(material.knowledge, parts)
        if sum(map(meter, (knowledge_text(known), notes_text(known)))) > limits.window // QUARTER:
            return True
        try:
            frame_of(ask, material, limits, meter, parts)
        except InvalidField:
            return True
        return False

    every = parts_of(material.knowledge)
    try:
        return frame_of(ask, material, limits, meter, every)
    except InvalidField:
        kept = bisect_left(range(1, every + 1), True, key=crowded)
        return replace(frame_of(ask, material, limits, meter, kept), told=str(kept))


def frame_of(ask: Ask, material: Material, limits: Limits, meter: Meter, parts: int) -> Frame:
    """It with the first parts of the knowledge. Raises `InvalidField`."""
    known = first(material.knowledge, parts)
    texts, opening = texts_of(ask), knowledge_text(known)
    own = notes_text(known)
    asked = tuple(map(own_words, ask.notes))
    notes = (own, *asked) if own else asked
    turns = material.turns if ask.history is not None else answered(material.turns)
    system = BREAK.join((texts[0], opening)) if opening else texts[0]
    budget, turns = share(limits, meter, system=system, message=ask.message, notes=notes, turns=turns)
    return Frame(texts, opening, notes, tuple(turns), budget)


def missing(material: Material, frame: Frame) -> str:
    """What of the knowledge had no room, in words."""
    return left_out(material.knowledge, int(frame.told)) if frame.told else ""


def selected(
    ask: Ask, found: Found | Gathered, frame: Frame, limits: Limits, meter: Meter
) -> tuple[Selection, Reason]:
    """What is shown of what was found, and `rag.reason`."""
    if isinstance(found, Gathered):
        selection = chosen(ask, found, frame.budget, limits.threshold, meter)
        return selection, reason(found, selection)
    kept, copies = dedupe(found.candidates)
    selection = select(
        ask.message,
        kept,
        (*found.duplicates, *copies),
        threshold=limits.threshold,
        budget=Budget(frame.budget, ask.top_k or limits.top_k),
        meter=meter,
    )
    return selection, found.reason(len(ask.searched), selection)


def blocks(ask: Ask, frame: Frame) -> tuple[list[Block], list[Block]]:
    """What stands before the context, and the notes, by what they are made of."""
    project = ask.scope.project or ""
    asked = len(frame.notes) - len(ask.notes)
    own, theirs = frame.notes[:asked], frame.notes[asked:]
    ref = Ref(KNOWLEDGE, project, sha256(frame.opening))
    before = [block(Kind.KNOWLEDGE, frame.opening, name=frame.told, refs=(ref,))]
    notes = [
        block(Kind.PROJECT_NOTES, note, name=frame.told, refs=(Ref(NOTES, project, sha256(note)),))
        for note in own
    ]
    return before, [*notes, *(block(Kind.NOTE, note, keep=True) for note in theirs)]


def told(selection: Selection, texts: tuple[str, str, str]) -> str:
    """The system text that is true of what was found."""
    full, bare, crowded = texts
    if selection.passages:
        return full
    left_out = any(entry.verdict is Verdict.OVER_BUDGET for entry in selection.entries)
    return crowded if left_out else bare
