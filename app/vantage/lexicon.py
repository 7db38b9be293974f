"""The tables as one dictionary: a word, or the first word of a phrase, to its classes as bits of an int.

Built once at import from the tables' forms: verbs inflected, nouns made plural, apostrophes with and
without. A look-up is two dictionary reads, whatever the text. Nothing here raises.
"""

from collections.abc import Iterable, Mapping

from app.vantage.acts import DEEDS, VERBS
from app.vantage.frames import CONTINUERS, FRAMES, JUSTIFIED
from app.vantage.guards import GUARDS
from app.vantage.harmless import STAGES
from app.vantage.hints import HINTS
from app.vantage.marks import MARKS
from app.vantage.matters import MATTERS
from app.vantage.objects import THINGS
from app.vantage.pressing import PRESSING
from app.vantage.stakes import STAKES_WORDS
from app.vantage.targets import WHOM
from app.vantage.tongues import TONGUES
from app.vantage.words import CUTS, read

IRREGULAR = {
    "get": "gets got gotten getting", "take": "takes took taken taking",
    "break": "breaks broke broken breaking", "steal": "steals stole stolen stealing",
    "shoot": "shoots shot shooting", "hang": "hangs hung hanged hanging",
    "slay": "slays slew slain slaying", "run": "runs ran running", "put": "puts putting",
    "cut": "cuts cutting", "hit": "hits hitting", "hurt": "hurts hurting", "beat": "beats beaten beating",
    "bite": "bites bit bitten biting", "strike": "strikes struck striking",
    "fight": "fights fought fighting", "throw": "throws threw throwing", "hold": "holds held holding",
    "tie": "ties tied tying", "set": "sets setting", "burn": "burns burned burnt burning",
    "blow": "blows blew blown blowing", "bring": "brings brought bringing",
    "give": "gives gave given giving", "feed": "feeds fed feeding", "make": "makes made making",
    "build": "builds built building", "grow": "grows grew grown growing", "buy": "buys bought buying",
    "sell": "sells sold selling", "deal": "deals dealt dealing", "hide": "hides hid hidden hiding",
    "find": "finds found finding", "drink": "drinks drank drunk drinking", "eat": "eats ate eaten eating",
    "swallow": "swallows swallowed swallowing", "smoke": "smokes smoked smoking",
    "write": "writes wrote written writing", "forge": "forges forged forging",
    "spread": "spreads spreading", "keep": "keeps kept keeping", "read": "reads reading",
    "see": "sees saw seen seeing", "lie": "lies lied lying", "bet": "bets betting",
    "rig": "rigs rigged rigging", "sleep": "sleeps slept sleeping", "quit": "quits quitting",
    "draw": "draws drew drawn drawing", "mow": "mows mowed mown mowing", "end": "ends ended ending",
    "have": "has had having", "con": "cons conned conning", "do": "does did done doing",
    "drug": "drugs drugged drugging", "bug": "bugs bugged bugging",
    "commit": "commits committed committing", "traffic": "traffics trafficked trafficking",
    "bomb": "bombs bombed bombing", "drown": "drowns drowned drowning", "fly": "flies flew flown flying",
}  # fmt: skip
"""Verbs whose forms no rule makes."""

_VOWELS = frozenset("aeiou")


def forms(verb: str) -> tuple[str, ...]:
    """The infinitive with its -s, -ed and -ing; of a phrase, its first word is inflected."""
    head, mark, rest = verb.partition("_")
    if head in IRREGULAR:
        made = IRREGULAR[head].split()
    elif head.endswith("e"):
        made = [head + "s", head + "d", head[:-1] + "ing"]
    elif head.endswith("y") and head[-2:-1] not in _VOWELS:
        made = [head[:-1] + "ies", head[:-1] + "ied", head + "ing"]
    else:
        stem = head + head[-1] if _doubles(head) else head
        made = [
            head + ("es" if head.endswith(("s", "sh", "ch", "x", "z")) else "s"),
            stem + "ed",
            stem + "ing",
        ]
    return tuple(form + mark + rest for form in (head, *made))


def _doubles(word: str) -> bool:
    short = len(word) >= 3 and word[-1] not in _VOWELS | set("wxy") and word[-2] in _VOWELS
    return short and word[-3] not in _VOWELS and sum(letter in _VOWELS for letter in word) == 1


def plural(noun: str) -> tuple[str, ...]:
    """The noun and its plurals."""
    if noun.endswith("y") and noun[-2:-1] not in _VOWELS:
        return noun, noun[:-1] + "ies"
    return noun, noun + ("es" if noun.endswith(("s", "sh", "ch", "x")) else "s")


def alone(phrase: str) -> tuple[str, ...]:
    """Listed as it stands."""
    return (phrase,)


TABLES: tuple[tuple[Mapping[str, str], object], ...] = (
    (VERBS, forms), (DEEDS, plural), (THINGS, plural), (MATTERS, plural), (STAGES, plural), (WHOM, plural),
    (FRAMES, alone), (GUARDS, alone), (TONGUES, alone), (MARKS, alone),
    (HINTS, alone),
    ({"it": CONTINUERS, "justified": JUSTIFIED, "cut": " ".join(sorted(CUTS - {"\n"}))}, alone),
    ({f"press_{kind}": words for kind, (_, words) in PRESSING.items()}, alone),
    ({f"stake_{kind}": pair[0] for kind, pair in STAKES_WORDS.items()}, plural),
    ({f"weak_{kind}": pair[1] for kind, pair in STAKES_WORDS.items()}, plural),
)  # fmt: skip
"""Each table, and how its words are bent."""

BITS: dict[str, int] = {}
"""Class → its bit."""

Entry = tuple[int, dict[str, list[tuple[tuple[str, ...], int]]]]
"""Classes of the word alone; by second word, the phrases it begins: (the rest behind it, classes)."""

WORDS: dict[str, Entry] = {}
"""First word → entry."""


def bits(classes: str) -> int:
    """The classes' bits together."""
    found = 0
    for name in classes.split():
        found |= BITS[name]
    return found


def _enter(phrase: tuple[str, ...], mask: int) -> None:
    known, phrases = WORDS.get(phrase[0], (0, {}))
    if len(phrase) == 1:
        WORDS[phrase[0]] = (known | mask, phrases)
        return
    rest = phrase[2:]
    same = phrases.setdefault(phrase[1], [])
    merged = mask
    for have, bit in same:
        if have == rest:
            merged |= bit
    same[:] = sorted([pair for pair in same if pair[0] != rest] + [(rest, merged)], key=lambda p: -len(p[0]))
    WORDS[phrase[0]] = (known, phrases)


def _fill(tables: Iterable[tuple[Mapping[str, str], object]]) -> None:
    for table, bend in tables:
        assert callable(bend)  # noqa: S101 - tells the type checker
        for name, words in table.items():
            bit = BITS.setdefault(name, 1 << len(BITS))
            for word in words.split():
                for form in bend(word):
                    plain = form.replace("_", " ")
                    _enter(read(plain).tokens, bit)
                    if "'" in plain:
                        _enter(read(plain.replace("'", "")).tokens, bit)


def _inherit() -> None:
    """A frame that begins with a thing still names it: the `letter` of `letter to`."""
    things = bits(" ".join((*THINGS, *MATTERS)))
    frames = bits("make_me demean how recipe")
    for known, phrases in WORDS.values():
        for same in phrases.values():
            same[:] = [(rest, mask | known & things if not mask & ~frames else mask) for rest, mask in same]


_fill(TABLES)
_inherit()
WORDS["\n"] = (BITS["cut"], {})
