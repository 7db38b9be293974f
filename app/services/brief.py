"""What the model is told under a decision: overlay, policy, lens, cards, thread, and what was found.
Blocking, milliseconds.

All that is settled before the search is `Given`; the prompt's blocks and the recipe's are made of it in one
order: re-entry line, the asker's overlay, policy, lens, cards, thread. No persona. Pure but for the count of
tokens, which are those of the model that answers. Raises `InvalidField` where what must stand in the prompt
does not fit into the model's window. Source: CONTRACT §3, seed 003 (3.3, steps 1-7).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from app.domain.boost import Wants
from app.domain.budget import Budget, Meter
from app.domain.card import CardsBlock
from app.domain.desire import load_latest_vb_desire_profile, vb_desire_bias_map
from app.domain.explanation import build_meta_explanation
from app.domain.gravity import Gravity, gravity, gravity_weights, load_latest_gravity_profile
from app.domain.greeting import is_pure_reentry_greeting, reentry_line
from app.domain.instructions import GIVEN, SYSTEM_GREETING, SYSTEM_MEMORY, SYSTEM_POLICY, SYSTEM_TALK
from app.domain.memory import DESIRE, GRAVITY, Moment, Tallies
from app.domain.prompt import BREAK, GREETING, MEMORIES, Form, Prompt, Role, build_system_prompt
from app.domain.recall import MEMORIES as PERSONAL
from app.domain.recall import TOLD, pack
from app.domain.recipe import CHAT_LOG, Block, Kind, Ref, block, recipe_of, sha256
from app.domain.room import Limits, share
from app.domain.selection import Selection
from app.domain.tags import infer_query_tags
from app.domain.thread import ThreadBlock
from app.domain.trace import Degraded, Reason, Trace
from app.services import context
from app.services.context import Context
from app.services.held import WHOLE
from app.services.inquiry import Inquiry
from app.services.recall import Known, Wanted
from app.services.retrieval import VERSION
from app.vantage import mix
from app.vantage.rivals import rivals
from app.vantage.terms import ResponseClass
from app.vantage.weigh import Weighed, rivalled

KINDS = (GRAVITY, DESIRE)
"""Of the cards that memories are ranked by; a persona is not shown."""
SHARE = 4
"""Cards, and the thread, have at most one part in so many of the window's free tokens each."""


@dataclass(frozen=True, slots=True)
class Given:
    """What an answer is given beside what is found."""

    message: str
    weighed: Weighed
    by: mix.Weighing
    overlay: str = ""
    """The asker's, as `overlay_to_instructions` gives it."""
    lens: bool | str = False
    cards: CardsBlock = field(default_factory=CardsBlock)
    thread: ThreadBlock = field(default_factory=ThreadBlock)
    lost: tuple[Degraded, ...] = ()
    """What could not be read of it."""
    greets: bool = False
    """A pure greeting that is to be answered: nothing but its own prompt."""

    @property
    def response_class(self) -> ResponseClass:
        """The answer's."""
        return self.weighed.decision.response_class

    @property
    def sought(self) -> bool:
        """Whether anything is to be looked for."""
        wanted = self.by.split.personal or self.by.split.corpus
        return bool(wanted) and not self.bare

    @property
    def bare(self) -> bool:
        """Whether nothing that was retrieved is shown: in a greeting's prompt, and in a refusal's."""
        return self.greets or self.response_class is ResponseClass.REFUSE

    def reentry(self, moment: Moment | None) -> str:
        """How long the asker was away; not where the answer only asks."""
        return "" if self.response_class is ResponseClass.CLARIFY else reentry_line(moment)

    def says(self, system: str) -> str:
        """A system text that tells of cards and thread, where there are any."""
        return GIVEN.get(system, system) if self.cards.text or self.thread.text else system

    def blocks(self) -> tuple[str, ...]:
        """Those that stand in every prompt, in order; "" where there is none."""
        if self.bare:
            return (self.overlay, self.weighed.overlay_text, "", "", "")
        lens = mix.lens_block(self.lens)
        return (self.overlay, self.weighed.overlay_text, lens, self.cards.text, self.thread.text)

    def recipe(self, reentry: str) -> tuple[Block, ...]:
        """The same, by what they are made of."""
        overlay, policy, lens, cards, thread = self.blocks()
        turns = tuple(Ref(CHAT_LOG, turn.id, sha256(turn.content)) for turn in self.thread.turns)
        return (
            block(Kind.REENTRY, reentry, keep=True),
            block(Kind.OVERLAY, overlay, keep=True),
            # Turns that were weighed and are not shown: a replay weighs them again.
            block(Kind.POLICY, policy, refs=turns if self.bare else ()),
            block(Kind.LENS, lens, name=mix.lens_name(self.lens)),
            block(Kind.CARDS, cards, refs=self.cards.refs),
            block(Kind.THREAD, thread, refs=turns),
        )

    def prompt(
        self,
        system: str,
        reentry: str,
        selection: Selection | None = None,
        form: Form = MEMORIES,
        reason: Reason = Reason.OK,
    ) -> Prompt:
        """All of it, and what was found."""
        overlay = BREAK.join(filter(None, self.blocks()))
        passages = selection.passages if selection else ()
        return build_system_prompt(
            *(system, self.message, passages),
            reentry=reentry,
            overlay_text=overlay,
            include_persona=False,
            form=form,
            reason=reason,
        )


def assemble(given: Given, wanted: Wanted, known: Known, limits: Limits, meter: Meter) -> Context:
    """With what was found: boosts, recency, what is told."""
    tags, reentry = infer_query_tags(given.message), given.reentry(known.moment)
    weights = gravity_weights(load_latest_gravity_profile(known.cards))
    bare = given.prompt(given.says(SYSTEM_MEMORY), reentry).messages()[0]["content"]
    budget, _ = share(limits, meter, system=bare, message=given.message, notes=(), turns=())
    wants = Wants(tags, vb_desire_bias_map(load_latest_vb_desire_profile(known.cards)), weights)
    drawn = mix.told(known.drawn, known.found.candidates, known.tallies or Tallies(), wants, given.by)
    room = Budget(budget, TOLD + wanted.corpus)
    selection = pack(drawn, known.found.duplicates, budget=room, meter=meter)
    prompt = given.prompt(instructed(given, selection), reentry, selection)
    trace = Trace(
        reason=known.found.reason(bool(wanted.personal) + bool(wanted.corpus), selection),
        entries=selection.entries,
        degraded=tuple(dict.fromkeys((*given.lost, *known.degraded))),
        cached=known.found.cached,
        tokens=meter.context(prompt),
        budget=budget,
        took_ms=known.found.took_ms,
        sources=known.found.sources,
        told=known.found.notes,
    )
    used = [context.evidence(one, known) for one in selection.passages if one.source == PERSONAL]
    explanation = build_meta_explanation(tags, used, weights, gravity(tags, weights), known.moment)
    recipe = recipe_of(prompt, ranking=VERSION, before=given.recipe(reentry))
    return Context(prompt, trace, meter.prompt(prompt), explanation, recipe)


def contested(
    given: Given, wanted: Wanted, known: Known, limits: Limits, meter: Meter, *, ask: Inquiry
) -> tuple[Given, Context]:
    """The same; but where rival sources answer differently, the answer only asks which of them is meant."""
    context = assemble(given, wanted, known, limits, meter)
    said = [turn.content for turn in given.thread.turns if turn.role is Role.USER]
    found = rivals(given.message, context.prompt.passages, said)
    again = rivalled(given.weighed, ask.limits, ask.routing, found)
    if again is None:
        return given, context
    given = replace(given, weighed=again)
    return given, assemble(given, wanted, known, limits, meter)


def unsought(
    given: Given,
    moment: Moment | None,
    limits: Limits,
    meter: Meter,
    *,
    lost: Sequence[Degraded] = (),
) -> Context:
    """With nothing looked for: a refusal, a mix of nothing, or a pure greeting's minimal prompt."""
    reentry, greets = given.reentry(moment), given.greets
    greeting = is_pure_reentry_greeting(given.message)
    talk = SYSTEM_GREETING if greeting else SYSTEM_TALK
    system, form = (talk, GREETING) if greets else (SYSTEM_POLICY, MEMORIES)
    why = (Reason.GREETING if greeting else Reason.SMALL_TALK) if greets else Reason.UNASKED
    prompt = given.prompt(system, reentry, form=form, reason=why)
    share(
        limits,
        meter,
        system=prompt.messages()[0]["content"],
        message=given.message,
        notes=(),
        turns=(),
    )
    trace = Trace(why, degraded=(*given.lost, *lost))
    explanation = build_meta_explanation(infer_query_tags(given.message), (), {}, Gravity(), moment)
    recipe = recipe_of(prompt, ranking=VERSION, before=given.recipe(reentry))
    bypass = why if greets else None
    return Context(prompt, trace, meter.prompt(prompt), explanation, recipe, bypass=bypass)


def instructed(given: Given, selection: Selection) -> str:
    """The system text that is true of what was found, and of what the answer may be."""
    return SYSTEM_POLICY if given.response_class in WHOLE else given.says(context.told(selection))


def roomy(limits: Limits, meter: Meter, texts: Sequence[str]) -> int:
    """Tokens that cards, or the thread, may have beside these: they must not crowd out the message."""
    free = limits.window - limits.answer - sum(map(meter, (GIVEN[SYSTEM_MEMORY], *texts)))
    return max(0, free // SHARE)
