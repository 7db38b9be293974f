"""A judgement of paraphrases without a model, which `bench.support` measures. The service does not use it.

A sentence that the passage has word for word is carried. Otherwise the shares of its words and word pairs
that the passage has decide, and its figures, names and negations must be the passage's: good on BEGIN, below
the bar on ExpertQA (docs/measurements/support.md).
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from app.answer import Support
from app.answering.support import LEAST_TERMS, PASSAGE_CHARACTERS, SENTENCE_CHARACTERS, compared, plain
from app.text.languages import TONGUES, words
from app.text.terms import terms

STRONG, NONE = 0.5, 0.25
"""A sentence whose `score` reaches the first is carried; below the second it is not. Chosen on half of BEGIN
and half of ExpertQA (docs/measurements/support.md)."""
SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])|\n+")
WORD = re.compile(r"[^\W\d_]+(?:['’]t\b)?")
NEGATIONS = words(
    "not no never none neither nor without cannot nicht kein keine keinen keiner nie niemals ohne pas jamais"
    " aucun aucune sans nunca ningún ninguna sin ni"
)

GROUP = "[,.'’\u00a0\u202f\u2009]"
GROUPED = re.compile(GROUP)
FIGURE = re.compile(
    rf"(?<![\w.,])(\d{{1,3}}(?:{GROUP}\d{{3}})+(?!\d)|\d+)([.,]\d+)?(?!\d)"
    r"(?:[\s-]?(thousand|million|billion|trillion|mn|bn|[kmb])(?!\w))?",
    re.IGNORECASE,
)
SCALES = {
    name: scale
    for names, scale in (
        ("thousand k", 1e3),
        ("million mn m", 1e6),
        ("billion bn b", 1e9),
        ("trillion", 1e12),
    )
    for name in words(names)
}
DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
ROUNDING, ROUNDED_FROM = 0.05, 10
"""A figure from 10 on replaces one that is at most 5 % off and has its digits when rounded: 45 for 45.2."""
NAME = re.compile(r"(?<=[\w,;:)’'\"”] )[A-ZÀ-ÖØ-ÞΑ-ΩА-Я][\w’'-]+")
"""A word with a capital that does not begin its sentence."""
CAPITALISED = 0.4
"""Share of such words from which capitals make no name: German, a title."""
LATIN = "LATIN"


@dataclass(frozen=True)
class Text:
    """A text as it is compared."""

    text: str

    @classmethod
    def of(cls, text: str, most: int = PASSAGE_CHARACTERS) -> "Text":
        return cls(unicodedata.normalize("NFKC", text[:most]))

    @cached_property
    def ordered(self) -> list[int]:
        return terms(self.text)

    @cached_property
    def terms(self) -> frozenset[int]:
        return frozenset(self.ordered)

    @cached_property
    def pairs(self) -> frozenset[tuple[int, int]]:
        """Neighbours among the terms."""
        return frozenset(zip(self.ordered, self.ordered[1:], strict=False))

    @cached_property
    def figures(self) -> list[frozenset[float]]:
        """Of each figure, the values that it may have."""
        return [values(found) for found in FIGURE.finditer(self.text)]

    @cached_property
    def values(self) -> frozenset[float]:
        spelled = (float(DIGITS.index(word)) for word in self.words if word in DIGITS)
        return frozenset().union(*self.figures, spelled)

    @cached_property
    def names(self) -> list[frozenset[int]]:
        """The terms of each name."""
        found = NAME.findall(self.text)
        few = len(found) < CAPITALISED * (self.text.count(" ") + 1)
        return [frozenset(terms(name)) for name in dict.fromkeys(found)] if few else []

    @cached_property
    def words(self) -> list[str]:
        return WORD.findall(self.text.casefold())

    @cached_property
    def negates(self) -> bool:
        return any(word in NEGATIONS or word.endswith(("n't", "n’t")) for word in self.words)

    @cached_property
    def sentences(self) -> list["Text"]:
        return [Text(part) for part in SENTENCE_END.split(self.text) if part and not part.isspace()]

    @cached_property
    def script(self) -> str:
        """Of most of its letters."""
        if self.text.isascii():
            return LATIN
        found = Counter(unicodedata.name(sign, "?").split()[0] for sign in self.text if sign.isalpha())
        return max(found, key=found.__getitem__, default=LATIN)

    @cached_property
    def tongue(self) -> int | None:
        """Place in TONGUES of the language that has most of its words; None: unknown."""
        hits = [sum(tongue.names_nothing(word) for word in self.words) for tongue in TONGUES]
        best = max(hits)
        return hits.index(best) if best > 1 and hits.count(best) == 1 else None


def values(found: re.Match[str]) -> frozenset[float]:
    """The values that a figure may have: `1.234` is two, and `5 million` also 5, as a table may have it."""
    whole, rest, unit = found.groups()
    read = {float(GROUPED.sub("", whole) + (rest or "").replace(",", "."))}
    if not rest and (marks := GROUPED.findall(whole)):
        head, _, tail = whole.rpartition(marks[-1])
        read.add(float(f"{GROUPED.sub('', head)}.{tail}"))
    scale = SCALES.get((unit or "").casefold(), 1.0)
    return frozenset({*read, *(value * scale for value in read)})


def rounds(value: float, other: float) -> bool:
    """True if the first is the second, rounded."""
    if value < ROUNDED_FROM or abs(value - other) > ROUNDING * other:
        return False
    digits = max(2, len(f"{value:.10g}".replace(".", "").rstrip("0")))
    return float(f"{other:.{digits}g}") == value


def stated(figure: frozenset[float], known: frozenset[float]) -> bool:
    return bool(figure & known) or any(rounds(value, other) for value in figure for other in known)


def score(sentence: Text, passage: Text) -> float:
    """In [0, 1]: the mean of the shares of terms and of pairs that the passage has. Function words count too:
    without them it was worse on BEGIN and no better on ExpertQA."""
    single = len(sentence.terms & passage.terms) / max(1, len(sentence.terms))
    double = len(sentence.pairs & passage.pairs) / len(sentence.pairs) if sentence.pairs else single
    return (single + double) / 2


def contradicts(sentence: Text, passage: Text) -> bool:
    """True if a figure or name is not the passage's, or one of the texts negates and the other does not."""
    if not all(stated(figure, passage.values) for figure in sentence.figures):
        return True
    if not all(name & passage.terms for name in sentence.names):
        return True
    said = frozenset(sentence.words)
    nearest = max(passage.sentences, key=lambda one: len(said.intersection(one.words)), default=passage)
    return nearest.negates != sentence.negates


def translated(sentence: Text, passage: Text) -> bool:
    if sentence.script != passage.script:
        return True
    return None not in (sentence.tongue, passage.tongue) and sentence.tongue != passage.tongue


def judged(sentence: Text, passage: Text) -> Support:
    reached = score(sentence, passage)
    if reached < NONE:
        return Support.UNCHECKED if translated(sentence, passage) else Support.NONE
    # Names and negations are read in Latin script alone.
    if reached < STRONG or sentence.script != LATIN or contradicts(sentence, passage):
        return Support.WEAK
    return Support.STRONG


def support(sentence: str, passage: str, together: Sequence[str] = ()) -> Support:
    """How well `passage` carries `sentence`, which has no citations in it. `together`: all passages that the
    sentence cites; if only together they carry some of it, each is weak."""
    said, held = Text.of(sentence, SENTENCE_CHARACTERS), Text.of(passage)
    if len(sentence) > SENTENCE_CHARACTERS or len(said.terms) < LEAST_TERMS:
        return Support.UNCHECKED
    if compared(sentence, plain(held.text)) is Support.STRONG:
        return Support.STRONG
    if len(passage) >= PASSAGE_CHARACTERS:
        return Support.UNCHECKED
    found = judged(said, held)
    if found is Support.NONE and len(together) > 1:
        whole = Text("\n".join(Text.of(each).text for each in together))
        return Support.NONE if judged(said, whole) is Support.NONE else Support.WEAK
    return found
