"""Requests that contradict themselves: `make it longer but shorter`.

Opposites of one and the same thing, with nothing but a joining word between them. `Short but detailed`, `the
intro shorter and the end longer`, `hot or cold` ask for what there is. Nothing here raises.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from app.domain.tongue import DETERMINERS, words

OPPOSITES = (
    "short long|shorter longer|bigger smaller|larger smaller|brighter darker|louder quieter|faster slower"
    "|hotter colder|warmer colder|formal informal|formal casual|brief exhaustive|brief lengthy"
    "|concise exhaustive|concise lengthy|simple complicated|simpler complicated|cheap expensive"
    "|cheaper pricier|higher lower|thicker thinner|wider narrower|heavier lighter|everything nothing"
    "|add remove|open close|include exclude|empty full|vague precise|public secret|older newer"
    "|anonymous signed|silent loud|vegan meaty|start stop|keep delete|black white"
)
OPPOSITE: Mapping[str, frozenset[str]] = {
    word: frozenset(
        other
        for pair in OPPOSITES.split("|")
        if word in pair.split()
        for other in pair.split()
        if other != word
    )
    for word in OPPOSITES.replace("|", " ").split()
}
JOINING = words("but yet and while")
BETWEEN = JOINING | words(
    "very also really at the same time still much even it make made be keep too is a, ,"
)
"""What may stand between the two."""
APART = 7
"""Words: opposites farther from each other are about different things."""
ASKING = words(
    "make write keep give be draft create draw paint play send cook design leave do rewrite turn i can could"
)
"""How a request begins; `what is long and short?` is a question about them."""
MEANT = words("difference compare versus vs story or both")
"""Who writes these means both."""


ONE = words("one single 1")
UNITS = words("word words sentence sentences line lines")
SHORT = words("one-word one-sentence one-line one-liner")
AMOUNTS = words("in least with using exactly minimum")
"""Before `500 words`, what is to be written; `these 500 words in one sentence` are there."""
LACKING = words("without no excluding")
AFTER = words("and but using with that while yet")


def clashes(lower: Sequence[str]) -> bool:
    """Whether a request asks for a thing and its opposite, for little and much, with and without."""
    if not lower or lower[0] not in ASKING or not MEANT.isdisjoint(lower):
        return False
    if any(_against(lower, n) for n, word in enumerate(lower) if word in OPPOSITE):
        return True
    return _sized(lower) or any(_lacked(lower, n) for n, word in enumerate(lower) if word in LACKING)


def _sized(lower: Sequence[str]) -> bool:
    """One word, in five hundred."""
    little = not SHORT.isdisjoint(lower) or any(one in ONE and unit in UNITS for one, unit in pairwise(lower))
    triples = zip(lower, lower[1:], lower[2:], strict=False)
    return little and any(
        before in AMOUNTS and many.isdecimal() and len(many) > 1 and unit in UNITS
        for before, many, unit in triples
    )


def _lacked(lower: Sequence[str], n: int) -> bool:
    """`Without adjectives, with many adjectives`; `coffee without a coffee machine` has another noun."""
    rest = [word for word in lower[n + 1 : n + 4] if word not in DETERMINERS]
    if not rest or not (rest[1:2] == [] or rest[1] in AFTER):
        return False
    return [*lower[:n], *lower[n + 2 :]].count(rest[0]) > (lower[n + 1] != rest[0])


def _against(lower: Sequence[str], n: int) -> bool:
    """Whether the word's opposite follows, joined to it."""
    between: list[str] = []
    for word in lower[n + 1 : n + 1 + APART]:
        if word in OPPOSITE[lower[n]]:
            return not JOINING.isdisjoint(between)
        if word not in BETWEEN:
            return False
        between.append(word)
    return False
