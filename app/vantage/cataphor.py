"""Pronouns whose meaning follows: `what do you call it when you can't sleep?`, `who are they, the Beatles?`.

`domain/pointing.py` looks in front of a pronoun; here is what stands behind: a clause, a noun set beside it,
or people at large (`how do they make cheese?`). English; words without marks, and tokens with them. In doubt
nothing follows. Nothing here raises.
"""

from collections.abc import Sequence

from app.domain.tongue import ENGLISH, MONTHS, PREPOSITIONS, PRONOUNS, QUESTIONS, TIMES, words
from app.vantage.hollow import KINDS, empty
from app.vantage.names import TITLES, named

NAMING = words("call calls name say says term phrase describe express spell pronounce")
NAMED = words("called named termed spelled spelt")
CLAUSES = words("when if that where")
GENERIC = words("you one someone somebody people a an")
"""Subjects of a clause about anybody: `how it works when a plane flies`; not `if I press it`."""
DEFINITE = words("i we you my our your the")
ALIKE = words("like feel feels take takes mean means cost costs")
GERUND = "ing"
CLEFT = words("that who which")
"""`Why is it that …`, `who was it who …`."""
BEING = words("is was")
NEAR = 4
"""Words between a pronoun and the clause it stands for."""
ARTICLES = words("the a an my your our his her")
ASKED = QUESTIONS | words("is are was were do does did has have")
"""How the question begins that a noun is set beside; `can you fix it, …` calls somebody."""
LONGEST = 5
"""Words of such a noun."""
OTHERWISE = (PRONOUNS | ENGLISH.verbs | {"or"}) - ARTICLES
"""What no such noun holds: a clause does, and a choice."""
CALLED = TITLES | words("mum mom dad doctor sir madam assistant claude chatgpt gpt alexa siri computer")
"""Names that a question is put to."""
DAYS = TIMES | words("today tomorrow yesterday tonight now")
HABITS = words("how why where")
"""`How do they make cheese?`; `what do they eat?` is asked of somebody."""
KNOWN = words("how what if whether that who why when where")


def follows(lower: Sequence[str], tokens: Sequence[str]) -> bool:
    """Whether what a message points at is told behind. `lower`: its words; `tokens`: these in their own
    case, and marks."""
    return any(_clause(lower, n) or _naming(lower, n) for n, word in enumerate(lower) if word == "it") or (
        _people(lower, tokens) or _beside(tokens)
    )


def _told(lower: Sequence[str], start: int) -> bool:
    """Whether anything is named from a place on."""
    return any(not empty(lower, n) for n in range(start, len(lower)))


def _clause(lower: Sequence[str], n: int) -> bool:
    """`It like living in Oslo`, `it works when a plane flies`, `is it that some never dream`."""
    after = n + 1
    while lower[after : after + 1] and lower[after] in ALIKE:
        after += 1
    if lower[after : after + 3] in (["just", "me", "or"], ["only", "me", "or"]):
        return _told(lower, after + 3)
    next_ = lower[after] if after < len(lower) else ""
    if after > n + 1 and _likened(lower, after, next_):
        return _likens(lower, after, next_)
    if lower[n - 1] in BEING and (next_ in CLEFT or (next_ == "about" and "that" in lower[after:])):
        return _told(lower, after + 1)
    return _timed(lower, n)


def _timed(lower: Sequence[str], n: int) -> bool:
    """`It works when a plane flies`."""
    near = range(n + 1, min(n + 1 + NEAR, len(lower)))
    starts = [m + 1 for m in near if lower[m] in ("when", "if")]
    return any(_whole(lower, start, QUESTIONS.isdisjoint(lower[:n])) for start in starts)


def _likens(lower: Sequence[str], after: int, next_: str) -> bool:
    """Whether what it is like is told: `like being a nurse`, and not `like in June`."""
    if _told(lower, after) and not (next_ == "in" and not (DAYS | MONTHS).isdisjoint(lower[after:])):
        return True
    return (lower[after : after + 2] == ["to", "be"] or next_ == "being") and lower[-1] in KINDS


def _likened(lower: Sequence[str], after: int, next_: str) -> bool:
    """`Like living`, `like to be`, `like in winter`."""
    opens = next_ in ("to", "as", "being") or (next_ == "in" and lower[after - 1] == "like")
    return opens or (len(next_) > len(GERUND) + 1 and next_.endswith(GERUND))


def _whole(lower: Sequence[str], start: int, strict: bool) -> bool:
    """Whether a clause names something, of nobody in particular, and points at nothing else; `strict`: no
    question asks for the thing itself."""
    if not PRONOUNS.isdisjoint(lower[start : start + NEAR]) or not _told(lower, start):
        return False
    if GENERIC.issuperset(lower[start : start + 1]):
        return True
    named = sum(not empty(lower, m) for m in range(start, len(lower)))
    return not strict and lower[start] not in DEFINITE and named > 1


def _naming(lower: Sequence[str], n: int) -> bool:
    """`Call it when you can't sleep`, `is it called a hamburger`; `called in German` is not told."""
    behind = lower[n + 1 : n + 1 + NEAR]
    noun = lower[n - 1] == "for" and lower[max(0, n - 2)] in ("name", "word", "term")
    if not noun and lower[n - 1] not in NAMING and NAMED.isdisjoint(behind[:1]):
        return False
    clause = next((m for m, word in enumerate(behind) if word in CLAUSES), None)
    if clause is not None:
        return _told(lower, n + 2 + clause)
    at = n + 2 + (behind[1:2] != [] and behind[1] in ARTICLES)
    return not NAMED.isdisjoint(behind[:1]) and at < len(lower) and not empty(lower, at)


def _people(lower: Sequence[str], tokens: Sequence[str]) -> bool:
    """`How do they make cheese?`: whoever does such things. `How do they make it?` is not told."""
    if lower[1:3] != ["do", "they"] or len(lower) < 5:
        return False
    done = lower[4]
    if done in ("at", "in", "on"):
        return tokens[5:] != [] and tokens[5][:1].isupper() and lower[5:6] != [] and lower[5] not in MONTHS
    return lower[0] in HABITS and _habit(lower, done)


def _habit(lower: Sequence[str], done: str) -> bool:
    """Whether it is told what they do, or to what."""
    if done in KNOWN:
        return _told(lower, 5)
    at = 5 if done in ("a", "an", "the", "so", "such", "all") else 4
    plain = at < len(lower) and lower[at] not in DAYS and not lower[at].endswith("ly")
    return plain and not empty(lower, at)


def _beside(tokens: Sequence[str]) -> bool:
    """`Where is it, Timbuktu?`, `what did she say, my doctor, about iron?`."""
    if "," not in tokens or tokens[0].lower() not in ASKED:
        return False
    parts: list[list[str]] = [[]]
    for word in tokens:
        if word == ",":
            parts.append([])
        else:
            parts[-1].append(word)
    pointing = any(token.lower() in PRONOUNS for token in parts[0])
    return pointing and any(_noun(part) for part in parts[1:])


def _noun(part: Sequence[str]) -> bool:
    """A noun with its article, a name that nobody is called by, `vim I mean`."""
    lower = [token.lower() for token in part]
    if lower[-2:] == ["i", "mean"]:
        return _told(lower[:-2], 0)
    if not 0 < len(lower) <= LONGEST or not OTHERWISE.isdisjoint(lower[1:]):
        return False
    if lower[0] in ARTICLES:
        return not empty(lower, len(lower) - 1) and lower[-1] not in DAYS | PREPOSITIONS
    called = named(lower) or not CALLED.isdisjoint(lower)
    return not called and all(token[:1].isupper() for token in part) and _told(lower, 0)
