"""The spans of an answer: where it cites, what it quotes, how well the cited passage carries the sentence.

Judged from the texts alone, sentence by sentence while the answer is sent: no model, no I/O. What the passage
has word for word is carried. Otherwise the shares of the sentence's words and word pairs that the passage has
decide, and its figures, names and negations must be the passage's. Why, and what it is worth: docs/adr/0009.
"""

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from app.answer import Span, Support
from app.answering.citations import Mark
from app.answering.enforcement import SentenceBuffer
from app.retrieval.terms import SPACELESS, terms
from app.text.languages import TONGUES, words

PARAPHRASES = False
"""Whether sentences that the passage does not have word for word are judged for readers. They are not: the
judgement is good on BEGIN, but below the bar on ExpertQA (docs/measurements/support.md)."""
STRONG, NONE = 0.5, 0.25
"""A sentence whose `score` reaches the first is carried; below the second it is not. Chosen on half of BEGIN
and half of ExpertQA (docs/measurements/support.md)."""
FEW = 2
"""Terms below which a sentence says too little to be judged."""
LONGEST, MOST = 2_000, 8_000
"""Characters of the longest sentence that is judged, and characters read of a passage: with a longer one
sentences are compared word for word only."""

PIECE = re.compile(rf"[{SPACELESS}]|(?:(?<![\w.,])[-−+])?\d+(?:[.,]\d+)*|[^\W\d_]+|[%‰$€£¥]")
"""What a comparison word for word looks at: words, figures with their sign, some units."""
GAP = "…"
"""What a quotation leaves out."""
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
"""A figure from 10 on stands for one that is at most 5 % off and has its digits when rounded: 45 for 45.2."""
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
    def of(cls, text: str, most: int = MOST) -> "Text":
        return cls(unicodedata.normalize("NFKC", text[:most]))

    @cached_property
    def plain(self) -> str:
        return f" {' '.join(PIECE.findall(self.text.casefold()))} "

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
    """True if the first stands for the second, rounded."""
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


def support(
    sentence: str, passage: str, together: Sequence[str] = (), *, paraphrases: bool = PARAPHRASES
) -> Support:
    """How well `passage` carries `sentence`, which has no citations in it. `together`: all passages that the
    sentence cites; if only together they carry some of it, each is weak."""
    return compared(sentence, Text.of(passage), list(map(Text.of, together)), paraphrases=paraphrases)


def compared(
    sentence: str, passage: Text, together: Sequence[Text] = (), *, paraphrases: bool = PARAPHRASES
) -> Support:
    said = Text.of(sentence, LONGEST)
    if len(sentence) > LONGEST or len(said.terms) < FEW:
        return Support.UNCHECKED
    if is_verbatim(said, passage):
        return Support.STRONG
    if not paraphrases or len(passage.text) >= MOST:
        return Support.UNCHECKED
    found = judged(said, passage)
    if found is Support.NONE and len(together) > 1:
        whole = Text("\n".join(each.text for each in together))
        return Support.NONE if judged(said, whole) is Support.NONE else Support.WEAK
    return found


def is_verbatim(said: Text, passage: Text) -> bool:
    """True if the passage has a text word for word, apart from what an ellipsis leaves out."""
    parts = [Text(part).plain for part in said.text.split(GAP)]
    return bool(said.plain.strip()) and all(part in passage.plain for part in parts)


QUOTES = {"”": "“", "»": "«", "“": "„", "」": "「", "』": "『", '"': '"'}
"""A quotation's opening mark by its closing one."""
BEHIND = " \t.,;:!?。！？"
"""May stand between a quotation and its citation."""
QUOTE_FEWEST = 3
"""Terms of a quotation that is more than a word in quotation marks."""


def quoted(before: str) -> str | None:
    """The quotation at the end of a text, within its paragraph; quotations within it are part of it."""
    line = before[before.rfind("\n") + 1 :].rstrip(BEHIND)
    opening = QUOTES.get(line[-1:])
    if opening is None:
        return None
    closing, inner = line[-1], line[:-1]
    depth, at = 1, len(inner)
    while depth and at:
        at -= 1
        depth += (inner[at] == closing and opening != closing) - (inner[at] == opening)
    # A quoted sentence may contain a closing mark alone.
    start = at if not depth else inner.find(opening)
    quote = inner[start + 1 :].strip() if start >= 0 else ""
    return quote if len(terms(quote)) >= QUOTE_FEWEST else None


ENDS = re.compile(r"[.!?…。！？\n]")
ITEM = re.compile(r"\s*(?:(?:[-*+•>]|#{1,6}|\d{1,3}[.)])\s+)*")
"""Before a sentence that begins a line."""
SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]")


@dataclass(slots=True)
class Spans:
    """The spans of an answer that is being sent."""

    passages: Mapping[str, str]
    """The packed texts by label."""
    paraphrases: bool = PARAPHRASES
    _sentences: SentenceBuffer = field(default_factory=SentenceBuffer)
    _texts: dict[str, Text] = field(default_factory=dict)
    _waiting: list[str] = field(default_factory=list)
    """Texts that were sent and hold no sentence's end."""
    _said: str = ""
    """The text up to the last sentence that was judged."""
    _piece: str = ""
    """Behind it: text that ends within a citation."""
    _found: list[tuple[str | None, Support]] = field(default_factory=list)
    """Of each mark its quotation, and the judgement."""

    def feed(self, text: str, marks: Sequence[Mark]) -> None:
        """The next text that was sent, and all marks so far. Judges the sentences that have ended."""
        self._waiting.append(text)
        if ENDS.search(text):
            self._read(marks)

    def end(self, marks: Sequence[Mark]) -> None:
        self._read(marks)
        self._judge(self._sentences.end(), marks)

    def told(self, text: str, marks: Sequence[Mark], cited: Sequence[str]) -> tuple[Span, ...]:
        """The spans of the whole text as sent. Marks behind its end were not sent; those of no sentence are
        the appended sources."""
        numbers = {label: n for n, label in enumerate(cited, 1)}
        # A client joins the halves of a pair that the model's server sent apart.
        pairs = [] if text.isascii() else [found.start() for found in SURROGATES.finditer(text)]
        found = [*self._found, *[(None, Support.UNCHECKED)] * (len(marks) - len(self._found))]
        return tuple(
            Span(
                mark.start - bisect_left(pairs, mark.start),
                mark.end - bisect_left(pairs, mark.end),
                mark.label,
                numbers[mark.label],
                quote,
                judgement,
            )
            for mark, (quote, judgement) in zip(marks, found, strict=True)
            if mark.end <= len(text)
        )

    def _read(self, marks: Sequence[Mark]) -> None:
        text = "".join(self._waiting)
        self._waiting.clear()
        for piece in self._sentences.feed(text):
            self._judge(piece, marks)

    def _judge(self, piece: str, marks: Sequence[Mark]) -> None:
        self._piece += piece
        text, start = self._said + self._piece, len(self._said)
        here = [mark for mark in marks[len(self._found) :] if mark.start < len(text)]
        if here and here[-1].end > len(text):  # a full stop within a label
            return
        if here:
            sentence = without(self._piece, [(mark.start - start, mark.end - start) for mark in here])
            together = [self._text(label) for label in dict.fromkeys(mark.label for mark in here)]
        head = last = -1
        for mark in here:
            # Of several citations in a row, each stands behind what the first stands behind.
            head = head if last >= 0 and not text[last : mark.start].strip(BEHIND) else mark.start
            last = mark.end
            quote = quoted(text[max(0, head - LONGEST) : head])
            passage = self._text(mark.label)
            found = compared(quote or sentence, passage, together, paraphrases=self.paraphrases)
            self._found.append((quote, found))
        self._said, self._piece = text, ""

    def _text(self, label: str) -> Text:
        if label not in self._texts:
            self._texts[label] = Text.of(self.passages.get(label, ""))
        return self._texts[label]


def without(text: str, places: Iterable[tuple[int, int]]) -> str:
    """A sentence without its citations, and without the mark of the list's item that it is."""
    kept, at = list[str](), 0
    for start, end in places:
        kept.append(text[at:start])
        at = max(at, end)
    return ITEM.sub("", "".join([*kept, text[at:]]), count=1).strip()
