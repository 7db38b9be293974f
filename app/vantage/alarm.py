"""Whether a message tells of somebody in danger now: a family of `emergencies.py` within one sentence, meant.

Not meant: quoted or translated words, tales and games, `if` and `when` before it (`what if he …`), what was
years ago, what is asked of the world. The first `LOOKED` words of sentences that may tell are looked at, so
time is bounded. Nothing here raises.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as Words
from functools import cache
from itertools import compress

from app.vantage.emergencies import EMERGENCIES, SLOTS
from app.vantage.needles import needles
from app.vantage.topics import END

LOOKED = 400
"""Words: whoever is in danger writes no essay."""
CALLS = frozenset("help please omg god oh hi hello emergency urgent quick".split())  # noqa: SIM905
"""What may stand before a call without `I`."""
BARE = frozenset("cant cannot took swallowed drank overdosed just".split())  # noqa: SIM905
"""A sentence that begins so leaves out `I`."""
FRAMED = re.compile(
    r" (?:lyrics?|songs?|sings?|sang|poems?|slogans?|chants?|protest(?:s|ers?)?|translate|translation"
    r"|translated"
    r"|meaning|metaphor|idiom|phrase|grammar|pronounce|spell|synonyms?|rhymes?|hero|heroine|protagonist"
    r"|characters?|chapter|plot|screenplay|fanfic|fanfiction|novella?|dnd|npc|minecraft|roblox|fortnite"
    r"|skyrim|sims|gta"
    r"|ubersetze|ubersetzung|lied|roman|traduce|traducir|cancion|novela|traduis|traduire|chanson|paroles"
    r"|in (?:the|a|this|that|my|his|her|our)(?: [a-z]+)?"
    r" (?:novel|book|film|story|series|episode|scene|poem|play|video game|game|dream)"
    r"|in (?:a|this|that|the) (?:movie|show)|say in (?:french|german|spanish|italian|english)"
    r"|(?:write|draft|compose|rewrite|paraphrase|proofread|summari[sz]e) (?:me )?(?:an?|the|this|that"
    r"|some|my)"
    r"|what does [^?]* mean(?= $)) "
)
"""The words of a quotation, a translation, a tale or a game."""
LONG_AGO = re.compile(
    r" (?:(?:years?|months?|weeks?|decades?) ago|last (?:year|month|week|summer|winter|spring)|in (?:19"
    r"|20)\d\d"
    r"|when (?:i|he|she) (?:was|were)|used to|as a (?:child|kid)|every (?:time|night|day|morning)"
    r"|for (?:school|work)|in the morning|on time|at (?:work|chess|cards)|wenn ich|de risa|de rire) "
)
RARE = 3
"""Letters of a text that is worth looking for."""
LASTING = frozenset({"poisoned"})
"""Families in which days may pass before it kills."""
FIGURE = re.compile(
    r" ?(?:when|whenever|while|during|well|properly when|deeply|through|underwater|under water|without"
    r"|in space|out of|in this (?:dress|shirt|suit|corset|heat)|with (?:a|this|my) mask|of|over"
    r"|in laughter|laughing|with laughter|at (?:the )?(?:price|bill|prices)|back|online"
    r"|on (?:twitter|reddit|tv)"
    r"|in (?:work|debt|emails?|paperwork|homework|meetings?)|for school|early|before) "
)
"""What follows a figure of speech, or a thing that is no danger."""
_PERHAPS = """if when whenever whether case suppose imagine unless until wenn falls ob si cuando quand
    lorsque"""
PERHAPS = frozenset(_PERHAPS.split())
"""Right before it, they make it a case that is thought of."""
WONDER = re.compile(r" (?:know|tell|sure|think|wondering) (?:if|whether)$")
OFTEN = frozenset({"that", "because", "signs", "symptoms", "like"})
"""And these, if it is said of anyone."""
ANYONE = re.compile(r"(?:someone|somebody|an? )")
WORLD = re.compile(
    r"^ (?:how (?:many|often|long|common|much)|why (?:do|does|did|is it|would)|what (?:happens"
    r"|percentage)|who"
    r"|which|is it|describe|explain|because) "
)
"""How a question about the world begins."""


def _filled(line: str, slots: Mapping[str, str] = SLOTS) -> str:
    for slot, pattern in slots.items():
        line = line.replace(f"{{{slot}}}", pattern)
    return line


KNOWN = {
    slot: pattern if min(map(len, needles(pattern)), default=0) >= RARE else "[a-z]"
    for slot, pattern in SLOTS.items()
}
"""Slots whose words tell something; of the others (`he`) nothing is known."""
_WORDS = {name: frozenset(telling.replace("_", " ").split()) for name, (telling, _) in EMERGENCIES.items()}
"""By family, its telling words."""
_TELLS = {
    word: tuple(name for name, telling in _WORDS.items() if word in telling)
    for word in frozenset().union(*_WORDS.values())
}
"""By telling word, its families."""
_TELLING = frozenset(_TELLS)


@cache
def needed(name: str) -> tuple[str, ...]:
    """Texts of which one stands wherever a family is met."""
    _, lines = EMERGENCIES[name]
    return tuple(sorted(needles("|".join(_filled(line, KNOWN) for line in lines))))


@cache
def pattern(name: str) -> re.Pattern[str]:
    """All of a family's patterns as one. All families' take a tenth of a second: made once asked for."""
    _, lines = EMERGENCIES[name]
    return re.compile(f" (?:{'|'.join(map(_filled, lines))})(?= )")


def warm() -> None:
    """Make them all, before anybody waits for one."""
    for name in EMERGENCIES:
        needed(name)
        pattern(name)


def alarmed(terms: Sequence[str]) -> bool:
    """Whether a message of these `topics.terms` tells of it."""
    return not _TELLING.isdisjoint(terms) and any(map(_told, _sentences(terms)))


def spoken(terms: Sequence[str], telling: Words[str]) -> Iterator[list[str]]:
    """Words of each sentence that has a telling one, an apostrophe's part joined to its word."""
    ended, end = (*terms, END), -1
    for place in compress(range(len(terms)), map(telling.__contains__, terms)):
        if place > end:
            begun, end = place, ended.index(END, place)
            while begun and terms[begun - 1] != END:
                begun -= 1
            yield " ".join(terms[begun:end]).replace(" '", "").split(" ")


def framed(row: str) -> bool:
    """Whether the words of a sentence (` with a blank on either side `) are quoted, or of a tale."""
    return FRAMED.search(row) is not None


def _sentences(terms: Sequence[str]) -> Iterator[list[str]]:
    """Those that may tell, up to LOOKED words of them all."""
    left = LOOKED
    for words in spoken(terms, _TELLING):
        yield words[:left]
        left -= len(words)
        if left <= 0:
            return


def _told(words: list[str]) -> bool:
    while words and words[0] in CALLS:
        words = words[1:]
    row = f" {' '.join(['i', *words] if words and words[0] in BARE else words)} "
    names = {name for word in _TELLING.intersection(words) for name in _TELLS[word]}
    told = (name for name in names if any(map(row.__contains__, needed(name))))
    said = any(_meant(row, found, name) for name in told for found in pattern(name).finditer(row))
    return said and not framed(row)


def _meant(row: str, found: re.Match[str], name: str) -> bool:
    """Whether it is said of somebody, now."""
    before, behind = row[: found.start()].rstrip(), row[found.end() :]
    anyone = ANYONE.match(found[0], 1) is not None
    wondering = WONDER.search(before) is not None and not anyone
    last = before.rpartition(" ")[2]
    if last in PERHAPS and not wondering:
        return False
    if (anyone and (last in OFTEN or WORLD.match(row))) or FIGURE.match(behind):
        return False
    return name in LASTING or LONG_AGO.search(row) is None
