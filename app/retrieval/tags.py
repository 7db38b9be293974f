"""Tags of a text (`format:skeleton`, `intent:compare`, `vb:rest`), their weights, and gravity.

Rules over one table, no model. A weight is a share in [0, 1] of a person's messages, whose count halves every
30 days. Gravity: a tag of the question is usual as far as its weight in the `gravity_profile` card reaches
the mean weight of its family; misalignment is 1 minus the mean over the question's tags. `vb_desire_profile`
gives a bias for each `vb:` tag. Cards of other tools may hold any finite number. Pure. Source:
docs/contract.md.
"""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from app.db.memories import DESIRE, GRAVITY, Memory
from app.db.votes import OwnMessage
from app.text.phrases import Phrases
from app.text.sanitise import quote

SKELETON, PROSE = "format:skeleton", "format:prose"
FORMATS = (SKELETON, PROSE)

QUERY = {
    SKELETON: (
        "skeleton|outline|outlines|outlined|bullet|bullets|bulleted|bullet point*|checklist*|as a list"
        "|a list of|in a list|numbered list|short list|list format|list form|as list|list of|list the"
        "|list all|list my|list them|step by step|in steps|template|just the points|as a table|in a table"
        "|stichpunkt*|als liste|aufzählung|gliederung|en liste|sous forme de liste|puces|en una lista"
        "|como lista|viñetas"
    ),
    PROSE: (
        "prose|paragraph*|essay|essays|full sentences|whole sentences|complete sentences|narrative"
        "|no bullets|no bullet point*|without bullets|without bullet point*|not a list|no list|no lists"
        "|not as a list|without lists|as a story|flowing text|fließtext|ganze sätze|keine liste|en prose"
        "|phrases complètes|sans liste|en prosa|párrafo*|sin lista*"
    ),
    "tone:meta": (
        "meta|this conversation|our conversation*|this chat|our chat*|your answer|your answers"
        "|your last answer|your reply|your replies|your tone|how you answer|how you talk|the way you"
        "|why did you|why do you|you said|you told me|do you remember|what do you know about me"
        "|what do you remember|about yourself|how do you work|how do you decide|last time you|stop saying"
        "|you keep"
    ),
    "topic:workout": (
        "workout*|work out|working out|gym|exercise|exercises|exercising|training plan|strength training"
        "|training|squat|squats|deadlift*|bench press|push ups|pushup*|pull ups|pullup*|reps|cardio"
        "|weightlifting|lifting|hypertrophy|jogging|marathon|half marathon|warm up|stretching|fitness"
    ),
    "": "training data|training set|review of|first draft",
    "topic:fm": "fm",
    "topic:hv": "hv",
    "intent:explain": (
        "explain|explains|explaining|explanation|explanations|why|what is|what's|what are|what does|what do"
        "|how does|how do|how is|how are|how come|clarify|help me understand|meaning of|what was|what were"
        "|erklär*|warum|explique*|pourquoi|explica*|por qué"
    ),
    "intent:instruct": (
        "how to|how do i|how do we|how can i|how can we|how should i|how would i|step by step"
        "|walk me through|show me how|teach me|guide me|a guide|tutorial*|instruction|instructions|instruct"
        "|steps to|recipe for|wie kann ich|wie mache ich|comment faire|cómo puedo|cómo hago"
    ),
    "intent:summarize": (
        "summar*|recap|recaps|tldr|tl;dr|tl dr|sum up|sum it up|overview|in short|key points|main points"
        "|the gist|digest|condense|boil down|zusammenfass*|fasse|fass|résum*|resumen|resúmelo|resume esto"
    ),
    "intent:analyze": (
        "analy*|examine|examining|break down|break it down|breakdown|investigate|diagnose|root cause|dig into"
        "|look into|what patterns|find patterns|the causes|the reasons"
    ),
    "intent:compare": (
        "compar*|versus|vs|difference between|differences between|the difference|the differences|differ"
        "|better than|worse than|pros and cons|contrast|which is better|which one|which of"
        "|vergleich*|unterschied*"
    ),
    "intent:reflect": (
        "reflect|reflects|reflecting|reflection*|look back|looking back|journal|journaling|what did i learn"
        "|what have i learned|what have i|how have i|how did i feel|make sense of|think through|introspect*"
        "|mull over|contemplate"
    ),
    "intent:generate": (
        "generate|generating|write a|write an|write me|write my|write some|draft|compose|create|brainstorm*"
        "|come up with|ideas for|give me ideas|some ideas|make up|make me|invent|design a|design an|suggest*"
        "|schreib mir|erstelle|écris|rédige|escribe|genera"
    ),
    "intent:rewrite": (
        "rewrite|rewriting|rewritten|rephras*|reword*|paraphras*|edit this|edit my|proofread*|polish"
        "|make it shorter|make this shorter|shorten|rework|revise|simplify|put it differently|umformulier*"
        "|reformule*|reescrib*"
    ),
    "intent:evaluate": (
        "evaluat*|assess*|review|reviews|reviewing|critique*|rate|rate my|judge|grade|how good|how well"
        "|is it any good|what do you think of|feedback on|weigh up|worth it|bewerte*|évalue*|evalúa*"
    ),
}
"""Phrases of a question that describe the wanted answer."""

VALUES = {
    "": "the rest|rest of|rest api|in order to|play back|at play|training data|no matter|as a matter",
    "vb:autonomy": (
        "autonomy|autonomous|independen*|freedom|on my own|my own way|my own pace|by myself|my choice"
        "|my decision|my terms|let me decide|i decide|i'll decide|decide for myself|don't tell me what"
        "|in control|self reliant|freiheit|liberté|libertad"
    ),
    "vb:mastery": (
        "master|mastery|mastering|get better|getting better|improve|improving|improvement|practice|practise"
        "|practicing|practising|skill|skills|learn|learning|progress|level up|excel at|expertise|lernen"
        "|apprendre|aprender"
    ),
    "vb:connection": (
        "friend|friends|friendship*|family|together|relationship*|lonely|loneliness|miss you|miss my|miss him"
        "|miss her|miss them|my wife|my husband|my partner|my mother|my father|my mom|my dad|my sister"
        "|my brother|my son|my daughter|my kids|community|belong|belonging|catch up with|close to|familie"
        "|freunde|famille|amis|familia|amigos"
    ),
    "vb:security": (
        "safe|safety|safely|secure|security|stable|stability|savings|insurance|worried|worry|worrying|afraid"
        "|anxious|risk|risks|risky|emergency|back up plan|backup|guarantee*|protect|sicherheit|sécurité"
        "|seguridad"
    ),
    "vb:novelty": (
        "something new|something different|try new|new things|new place*|novelty|curious|curiosity"
        "|explor*|adventur*|discover*|experiment*|never tried|first time|surprise me|neugierig|aventure*"
        "|aventura*"
    ),
    "vb:order": (
        "organize*|organise*|organizing|organising|organization|organisation|tidy|tidying|schedule*|routine"
        "|routines|structure|structured|declutter*|to do list|todo list|checklist*|clean up|planning"
        "|in order|orderly|systematic*|calendar|ordnung|ordre|orden"
    ),
    "vb:rest": (
        "rest|resting|rested|sleep|sleeping|asleep|insomnia|tired|exhaust*|relax*|take a break|took a break"
        "|a break|recover|recovery|nap|naps|burnout|burned out|burnt out|slow down|day off|unwind|calm"
        "|schlaf*|müde|repos|fatigué*|descans*|cansad*"
    ),
    "vb:recognition": (
        "recogni*|proud|praise*|appreciated|credit for|achievement*|award*|noticed|taken seriously|promotion"
        "|promoted|respect|respected|acknowledg*|stolz|fier|fière|orgullos*"
    ),
    "vb:honesty": (
        "honest|honestly|honesty|truth|truthful|truthfully|be straight|straight answer|candid|blunt|bluntly"
        "|transparen*|sugarcoat*|sugar coat*|lie|lied|lies|lying|sincere*|ehrlich*|honnête*|honest*|sincer*"
    ),
    "vb:play": (
        "play|playing|played|playful|fun|game|games|joke|jokes|joking|silly|laugh*|hobby|hobbies|humor|humour"
        "|spielen|jouer|jugar"
    ),
    "vb:care": (
        "take care of|taking care of|took care of|care for|care about|caring|kindness|be kind|look after"
        "|looking after|gentle|compassion*|comfort|comforting|nurtur*|volunteer*|support him|support her"
        "|support them|help others|kümmern|prendre soin|cuidar"
    ),
    "vb:meaning": (
        "meaningful|meaning in|meaning of life|purpose|my values|legacy|spiritual*|faith|what matters"
        "|matters to me|matters most|fulfil*|worthwhile|bigger picture|sinn des|le sens|el sentido"
    ),
}
"""Phrases for values and behaviour that a person keeps asking for."""

VOCABULARY = tuple(tag for tag in (*QUERY, *VALUES) if tag)
"""Every tag, in the order of output."""
RANK = {tag: rank for rank, tag in enumerate(VOCABULARY)}
BY_NAME = {tag.partition(":")[2]: tag for tag in VOCABULARY}

COMPLAINTS = Phrases(
    {
        SKELETON: (
            "too long|too wordy|too verbose|too much text|shorter|make it short|keep it short|more concise"
            "|be concise|be brief|wall of text|zu lang|kürzer|trop long|plus court|demasiado largo|más corto"
        ),
        PROSE: (
            "too short|too brief|too terse|longer|more detail|more details|more depth|elaborate|zu kurz"
            "|ausführlicher|trop court|plus long|demasiado corto|más largo|más detalle*"
        ),
    }
)
"""Complaints that ask for another form without naming it."""
HASHTAG = re.compile(r"(?<![\w#&/])#([^\W\d_][\w:-]{0,39})")
_VALUES = Phrases(VALUES)
_ALL = Phrases(
    {tag: "|".join(table[tag] for table in (QUERY, VALUES) if tag in table) for tag in RANK | {"": 0}}
)


def infer_vb_tags(text: str) -> tuple[str, ...]:
    return _told(_VALUES.names(text))


def infer_query_tags(text: str) -> tuple[str, ...]:
    """In the order format, tone, topic, intent, `vb:`."""
    return _told(_ALL.names(text))


def memory_tags(text: str, tags: Iterable[str] = ()) -> tuple[str, ...]:
    """A memory's stored tags and those of its text, each once, known ones first."""
    return _told({*(tag.strip().lower() for tag in tags if tag.strip()), *infer_query_tags(text)})


def family(tag: str) -> str:
    """`vb` of `vb:rest`; "" without a family."""
    return tag.partition(":")[0] if ":" in tag else ""


def of_family(tags: Iterable[str], name: str) -> tuple[str, ...]:
    return tuple(tag for tag in tags if family(tag) == name)


def extract_tag_from_message(text: str) -> str | None:
    """The tag in feedback on an answer: `#tag`, a requested form, a named value."""
    if hashtag := HASHTAG.search(text[:32_000]):
        name = hashtag[1].lower().rstrip(":-")
        return BY_NAME.get(name, name)
    complaints = _told(COMPLAINTS.names(text))
    forms = of_family(infer_query_tags(text), "format")
    return next(iter((*complaints, *forms, *infer_vb_tags(text))), None)


def _told(tags: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(tags, key=lambda tag: (RANK.get(tag, len(RANK)), tag)))


HALF_LIFE_DAYS = 30.0

DAY_SECONDS = 86_400.0


def decay(at: datetime, now: datetime, half_life: float = HALF_LIFE_DAYS) -> float:
    """Weight of a message: 1 now, half after `half_life` days; a future date counts as now."""
    age = max(0.0, (now - at).total_seconds()) / DAY_SECONDS
    return float(0.5 ** (age / half_life))


def tag_weights(
    said: Iterable[OwnMessage], infer: Callable[[str], Sequence[str]], now: datetime
) -> dict[str, float]:
    """Share of the messages, weighted by age, that carry each tag; heaviest first, six decimals."""
    mass: defaultdict[str, float] = defaultdict(float)
    total = 0.0
    for message in said:
        counts = decay(message.at, now)
        total += counts
        for tag in infer(message.text):
            mass[tag] += counts
    shares = {tag: round(weight / total, 6) for tag, weight in mass.items()} if total else {}
    return dict(sorted(shares.items(), key=lambda item: (-item[1], item[0])))


def card_weights(card: Memory | None) -> dict[str, float]:
    held = card.fields.get("weights") if card else None
    if not isinstance(held, Mapping):
        return {}
    return {str(tag): number for tag, value in held.items() if (number := _number(value)) is not None}


def newest(cards: Iterable[Memory], kind: str) -> Memory | None:
    found = (card for card in cards if card.kind == kind)
    return max(found, key=lambda card: (card.created_at, card.id), default=None)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


FAMILY = "vb:"


def load_latest_vb_desire_profile(cards: Iterable[Memory]) -> Memory | None:
    return newest(cards, DESIRE)


def vb_desire_bias_map(card: Memory | None) -> dict[str, float]:
    """A bias in [-1, 1] for each `vb:` tag of the card, relative to its largest weight; {} without a card."""
    weights = {tag: weight for tag, weight in card_weights(card).items() if tag.startswith(FAMILY)}
    most = max(map(abs, weights.values()), default=0.0)
    return {tag: weight / most for tag, weight in weights.items()} if most else {}


NOTED = 0.4
"""Least misalignment that the system prompt mentions."""
MISALIGNED = 0.7
"""Most of the question is unusual for the user."""


@dataclass(frozen=True, slots=True)
class Gravity:
    """How unusual a question is for its user."""

    misalignment: float = 0.0
    label: str = "unknown"
    """unknown (no card, or no tags), aligned, drifting (≥ 0.4), misaligned (≥ 0.7)."""


def load_latest_gravity_profile(cards: Iterable[Memory]) -> Memory | None:
    return newest(cards, GRAVITY)


def misalignment(tags: Sequence[str], weights: Mapping[str, float]) -> float:
    """In [0, 1]; 0 without tags or weights, 1 if no tag has a weight."""
    means = _means(weights)
    if not tags or not means:
        return 0.0
    return 1 - sum(_home(tag, weights, means) for tag in tags) / len(tags)


def gravity(tags: Sequence[str], weights: Mapping[str, float]) -> Gravity:
    if not tags or not _means(weights):
        return Gravity()
    far = round(misalignment(tags, weights), 6)
    label = "misaligned" if far >= MISALIGNED else "drifting" if far >= NOTED else "aligned"
    return Gravity(far, label)


def gravity_note(found: Gravity, weights: Mapping[str, float]) -> str:
    """Sentence for the system prompt; "" below 0.4."""
    if found.misalignment < NOTED:
        return ""
    home = [
        tag for tag, weight in sorted(weights.items(), key=lambda item: (-item[1], item[0])) if weight > 0
    ]
    usual = ", ".join(quote(tag[:60]) for tag in home[:3])
    return (
        f"[gravity-note] This question lies away ({found.misalignment:.2f}) from what this person usually"
        f" turns to ({usual}). Answer what is asked; do not pull it back there."
    )


def _home(tag: str, weights: Mapping[str, float], means: Mapping[str, float]) -> float:
    mean = means.get(family(tag), 0.0)
    return min(1.0, max(0.0, weights.get(tag, 0.0)) / mean) if mean else 0.0


def _means(weights: Mapping[str, float]) -> dict[str, float]:
    groups: dict[str, list[float]] = {}
    for tag, weight in weights.items():
        if weight > 0:
            groups.setdefault(family(tag), []).append(weight)
    # Divided before it is summed: an older tool's weights may be close to the largest float.
    return {name: sum(weight / len(held) for weight in held) for name, held in groups.items()}
