"""Whether a message points out of itself: a pronoun, `the second one`, without what it stands for.

English only; tokens are words in their own case, and marks. The hard part is what does not point: `it` that
stands for nothing ("what does it cost to rent a boat"), `that` that joins clauses, `this report` on the
table, pronouns whose noun stands before them in the same message. Nothing here raises.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import dropwhile

from app.domain.tongue import (
    ASKING,
    DETERMINERS,
    ENGLISH,
    MONTHS,
    PAPERS,
    PREPOSITIONS,
    QUESTIONS,
    TALK,
    TIMES,
    words,
)

MARKS = frozenset(",;:.?!")
BREAKS = frozenset(",;:.?!") | words(
    "and or but if when while because since once after before until that which who whether how why what where"
)
"""Where one clause ends and another begins: the first may hold what a pronoun of the second stands for."""
POSSESSIVE = words("its their theirs his her hers")
PERSONS = words("he him his she her hers")
FAR = 3
"""Words of content before a pronoun: more than these hold its noun."""
FOLLOWING = words("of who whom that which whose in with where he she i we you they it")
"""After `one`: it is told right here which."""
FORMULAS = words(
    "cost costs take takes matter sense help pay possible impossible allowed permitted forbidden legal"
    " illegal lawful safe dangerous required mandatory compulsory necessary ok okay fine better best"
    " worth wise cheaper easy easier hard difficult true likely normal common usual customary important"
    " enough correct wrong right recommended advisable healthy useful clear known said proven believed"
    " acceptable polite risky"
)
"""`It` before these and a clause stands for the clause: it is possible to …, it is known whether …"""
CLAUSES = words("to that if whether when how what who why where")
ALIKE = words("like feel mean")
"""The same before `to` and a verb, however short: what is it like to sail?"""
PREDICATES = words(
    "cost weigh include cover mean say involve contain require need apply work belong free available"
    " covered included cheaper better"
)
"""Said of a thing: `what does the second cost?` has no noun, `the second edition` has."""
LISTED = words("point item option part question step one")
"""What an answer lists: `the second option` is one of those, unless it is told of what."""
ALONE = PREPOSITIONS | {"", "about"}
"""`That` behind these is a phrase by itself; "" is the beginning."""
WEATHER = words("rain rains raining snow snows snowing freezing")

Tokens = Sequence[str]


def content(tokens: Tokens) -> list[str]:
    """The words that name something."""
    return [token for token in tokens if token not in MARKS and not ENGLISH.names_nothing(token.lower())]


def points(tokens: Tokens) -> bool:
    """Whether any word of it stands for something outside."""
    lower = [token.lower() for token in tokens]
    return any(
        RULES[word](lower, n) and not _bound(tokens, lower, n)
        for n, word in enumerate(lower)
        if word in RULES
    )


def _bound(tokens: Tokens, lower: Tokens, n: int) -> bool:
    """Whether what a word stands for is in the message: in an earlier clause, far back in its own, or, for
    `its` and `she`, as its subject (one, two words of content, or a name)."""
    return (
        _far(lower, n)
        or (lower[n] in POSSESSIVE and len(content(lower[:n])) > 1)
        or _owned(lower, n)
        or _people(tokens, lower, n)
        or (lower[n] in PERSONS | POSSESSIVE and _named(tokens[1:n]))
    )


def _far(lower: Tokens, n: int) -> bool:
    """Whether there is content in an earlier clause, or far back in this one."""
    breaks = [place for place in range(n) if lower[place] in BREAKS]
    return bool(breaks and content(lower[: breaks[-1]])) or len(content(lower[:n])) > FAR


def _owned(lower: Tokens, n: int) -> bool:
    """Whether it is the subject's: `its price`, or the first of a list."""
    owned = lower[n] in POSSESSIVE and not _ends(_near(lower, n + 1))
    return (owned or _near(lower, n + 1) in LISTED) and _subject(lower[:n])


def _named(tokens: Tokens) -> bool:
    """Whether a name is among them."""
    return any(token[:1].isupper() for token in content(tokens))


def _subject(lower: Tokens) -> bool:
    """Whether the question has a noun for its subject: `does the author …`, `should tenants …`."""
    for place, word in enumerate(lower):
        if word in ASKING:
            rest = dropwhile(lambda after: after in DETERMINERS | ENGLISH.ordinals.keys(), lower[place + 1 :])
            if content(list(rest)[:1]):
                return True
    return False


def _people(tokens: Tokens, lower: Tokens, n: int) -> bool:
    """`What do they eat in Japan?`: people there. In a month or a year it is they who were spoken of."""
    if lower[n] != "they" or _near(lower, n - 1) != "do":
        return False
    places = [place + 1 for place in range(n, len(lower)) if lower[place] == "in"]
    named = [token for place in places for token in tokens[place : place + 3] if token[:1].isupper()]
    return any(token.lower() not in MONTHS for token in named)


def _near(lower: Tokens, n: int) -> str:
    """The word at a place; "" beyond either end."""
    return lower[n] if 0 <= n < len(lower) else ""


def _ends(word: str) -> bool:
    """Whether a phrase ends before this word: a mark, the end, an auxiliary, a preposition."""
    return word in MARKS or word in ("", "too", "instead") or word in ENGLISH.verbs or word in PREPOSITIONS


def _always(_lower: Tokens, _n: int) -> bool:
    """They, she, him: nothing but pronouns."""
    return True


def _it(lower: Tokens, n: int) -> bool:
    """Not that of a formula with its clause, of the weather, of the clock."""
    after = list(lower[n + 1 : n + 5])
    if _near(after, 0) in ALIKE and _near(after, 1) == "to" and _near(after, 2) not in DETERMINERS:
        return not content(lower[n + 3 :])
    if _formal(lower, n):
        return False
    return not (WEATHER.intersection(after) or {"time", "day"}.intersection(lower[max(0, n - 2) : n]))


def _formal(lower: Tokens, n: int) -> bool:
    """Whether it stands for a clause that follows: `is it possible to …`."""
    places = range(n + 1, min(n + 5, len(lower)))
    formula = next((place for place in places if lower[place] in FORMULAS), None)
    if formula is None:
        return False
    clause = range(formula + 1, min(formula + 5, len(lower)))
    starts = next((place for place in clause if lower[place] in CLAUSES), None)
    return starts is not None and len(content(lower[starts:])) > 1


def _that(lower: Tokens, n: int) -> bool:
    """The pronoun, not the conjunction: alone, after a preposition, the subject of the question."""
    before, after = _near(lower, n - 1), _near(lower, n + 1)
    if before in ALONE or after == "":
        return True
    if before in TALK or (n == 1 and before not in ENGLISH.verbs):
        return _ends(after) and after not in ENGLISH.verbs
    return _follows(lower, n)


def _follows(lower: Tokens, n: int) -> bool:
    """Whether it stands right behind the verb of a question that has named hardly anything: `is that so?`"""
    return _near(lower, n - 1) in ENGLISH.verbs and _asks(lower) and len(content(lower[: n - 1])) < 2


def _asks(lower: Tokens) -> bool:
    """Whether it begins as a question does."""
    first = next(word for word in lower if word not in ENGLISH.openings)
    return first in QUESTIONS or first in ENGLISH.verbs


def _this(lower: Tokens, n: int) -> bool:
    """Not the document on the table, nor this year."""
    return (PAPERS | TIMES).isdisjoint(lower[n + 1 : n + 3])


def _those(lower: Tokens, n: int) -> bool:
    """Not `those who …`, `these days`."""
    return _near(lower, n + 1) not in FOLLOWING | PAPERS | {"days"}


def _one(lower: Tokens, n: int) -> bool:
    """`the second one`, `which ones`: of what was listed, unless it is told which."""
    before = {_near(lower, n - 1), _near(lower, n - 2)}
    chosen = before & (words("the this that which these those other another") | set(ENGLISH.ordinals))
    return bool(chosen) and _near(lower, n + 1) not in FOLLOWING


def _ordinal(lower: Tokens, n: int) -> bool:
    """`the second` with no noun after it, or one that lists; `the first to …` is told right here."""
    after = _near(lower, n + 1)
    if after in LISTED:
        after = _near(lower, n + 2)
        if after in PREPOSITIONS:
            return False
    bare = after in PREDICATES or (_ends(after) and after not in ("to", "of"))
    return _near(lower, n - 1) == "the" and bare


def _same(lower: Tokens, n: int) -> bool:
    """`Does the same apply …`, as subject of the question."""
    start = _near(lower, n - 2)
    return _near(lower, n - 1) == "the" and start in {*ENGLISH.verbs, ""} and not content(lower[:n])


def _other(lower: Tokens, n: int) -> bool:
    """`the others`, `another`, without a noun."""
    return _ends(_near(lower, n + 1))


def _last(lower: Tokens, n: int) -> bool:
    """`… there?`, `… then?`: a place, a time that was named."""
    return _near(lower, n + 1) == "" and _near(lower, n - 1) not in QUESTIONS


RULES: Mapping[str, Callable[[Tokens, int], bool]] = {
    **dict.fromkeys(words("they them their theirs he him his she her hers its"), _always),
    **dict.fromkeys(ENGLISH.ordinals, _ordinal),
    "it": _it,
    "that": _that,
    "this": _this,
    "these": _those,
    "those": _those,
    "one": _one,
    "ones": _one,
    "same": _same,
    "other": _other,
    "others": _other,
    "another": _other,
    "there": _last,
    "then": _last,
}
