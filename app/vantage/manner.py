"""How it is asked, as a factor of a rule's weight: done, written, known, told, guarded against, played.

Frames (app/vantage/frames.py) are looked at in the clause alone, and what stands against a deed or explains
it only within `NEAR` tokens before it: a preface lowers nothing. Nothing here raises.
"""

from app.vantage.acts import VERBS
from app.vantage.clause import Clause
from app.vantage.harm import BODILY, PLAYED, Harm
from app.vantage.lexicon import bits

NEAR = 6
"""Tokens within which what stands against a deed, or explains it, bears on the verb."""

_COVERT, _GUARD, _WRONG, _GAME, _RELATION = map(bits, ("covert", "guard", "wrong", "game", "relation"))
_LEARN, _MAKE_ME, _RECIPE, _PAST = map(bits, ("learn", "make_me", "recipe", "past"))
_KNOW, _DOING, _WORLD = map(bits, ("know", "doing", "world"))
OPERATIVE = bits("how want covert recipe")
PERSONAL = bits("how_i want covert")
"""The asker's own doing; `steps`, `way to` are asked about the past as well."""

FOUGHT = frozenset({"violence", "theft"})
"""Of what games play: what most of them are about."""
DOUBTED = 0.45
"""Risk that a game's name leaves where it may be a pretext: negotiated."""

UNSAID = 0.65
"""`what … to poison a man`: no how-to, but nobody else is said to do it."""

ORDERED = PERSONAL | _MAKE_ME
_ACTS = bits(" ".join(VERBS))
_STORY = bits("text tale")


def manner(harm: Harm, clause: Clause, index: int, pressed: bool) -> float:
    """How it is asked, as a factor of the rule's weight."""
    whole = clause.whole
    if whole & _COVERT:
        return 1.1
    factor = _asked(harm, clause, index)
    if pressed:
        return max(factor, harm.made)
    if whole & _GUARD and clause.before(index, _GUARD, NEAR):
        factor *= harm.guarded
    elif whole & _WRONG and not whole & ORDERED and _condemned(clause, index):
        factor *= 0.4
    if whole & _GAME and not whole & _RELATION:
        return _played(harm, clause, index, factor)
    return factor


def _played(harm: Harm, clause: Clause, index: int, factor: float) -> float:
    """On a game's stage. `rob a bank in GTA` is what games are about; whoever only begins with one, or asks
    for what is made and sold outside of it too, is negotiated with."""
    if harm.category not in BODILY | PLAYED:
        return factor
    lowered = factor * (0.4 if harm.category in BODILY else 0.5)
    fought = harm.category in FOUGHT and any(mask & _GAME for mask in clause.masks[index:])
    return lowered if fought else max(lowered, min(factor, DOUBTED / harm.weight))


def _condemned(clause: Clause, index: int) -> bool:
    """`is it wrong to kill`, `why is killing wrong`; not what a preface says of the world."""
    if clause.before(index, _WRONG, NEAR, _KNOW):
        return True
    asked = next((at for at, mask in enumerate(clause.masks) if mask & _KNOW), len(clause.masks))
    return any(mask & _WRONG for mask in clause.masks[max(index, asked) :])


def _asked(harm: Harm, clause: Clause, index: int) -> float:
    """To be learnt, told as a story, done, written, or known."""
    whole = clause.whole
    if whole & _LEARN and clause.before(index, _LEARN, NEAR):
        return harm.know
    if whole & _MAKE_ME and _written(whole):
        return harm.made
    if whole & OPERATIVE:
        return harm.know if whole & _PAST and not whole & PERSONAL else 1.0
    if clause.at[0] == clause.start and clause.masks[0] & _ACTS:
        return 1.0
    return _known(harm, whole, clause.masks[index]) if whole & _KNOW else harm.told


def _written(whole: int) -> bool:
    """Whether `write me …` is for a text: a story, and no recipe, or nothing that is done."""
    return bool(whole & _STORY and not whole & _RECIPE) or not whole & OPERATIVE


def _known(harm: Harm, whole: int, act: int) -> float:
    unsaid = act & _DOING and not whole & _WORLD
    return max(harm.know, UNSAID) if unsaid else harm.know
