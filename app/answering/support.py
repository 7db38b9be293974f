"""The spans of an answer: where it cites, what it quotes, and whether the passage has that word for word.

Judged from the texts alone, sentence by sentence while the answer is sent: no model, no I/O. What the passage
does not have word for word is `unchecked`: a judgement of paraphrases was measured and is not good enough
(docs/adr/0009, `bench/judgement.py`).
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from app.answer import Span, Support
from app.answering.citations import CitationMark
from app.answering.enforcement import SentenceBuffer
from app.text.terms import SPACELESS, terms

LEAST_TERMS = 2
"""Terms below which a sentence says too little to be judged."""
SENTENCE_CHARACTERS, PASSAGE_CHARACTERS = 2_000, 8_000
"""Characters of the longest sentence that is judged, and characters read of a passage."""
PIECE = re.compile(rf"[{SPACELESS}]|(?:(?<![\w.,])[-−+])?\d+(?:[.,]\d+)*|[^\W\d_]+|[%‰$€£¥]")
"""What a comparison word for word looks at: words, figures with their sign, some units."""
GAP = "…"
"""What a quotation leaves out."""


def plain(text: str) -> str:
    """A text as it is compared word for word."""
    return f" {' '.join(PIECE.findall(unicodedata.normalize('NFKC', text).casefold()))} "


def support(sentence: str, passage: str) -> Support:
    """Whether a passage has a sentence without its citations word for word, apart from what an ellipsis
    leaves out."""
    return compared(sentence, plain(passage[:PASSAGE_CHARACTERS]))


def compared(sentence: str, passage: str) -> Support:
    """`passage`: as `plain` gives it."""
    if len(sentence) > SENTENCE_CHARACTERS or len(set(terms(sentence))) < LEAST_TERMS:
        return Support.UNCHECKED
    parts = [part for part in map(plain, sentence.split(GAP)) if not part.isspace()]
    said = bool(parts) and all(part in passage for part in parts)
    return Support.STRONG if said else Support.UNCHECKED


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
    _sentences: SentenceBuffer = field(default_factory=SentenceBuffer)
    _texts: dict[str, str] = field(default_factory=dict)
    """Those that were compared, as `plain` gives them."""
    _waiting: list[str] = field(default_factory=list)
    """Texts that were sent and hold no sentence's end."""
    _said: str = ""
    """The text up to the last sentence that was judged."""
    _piece: str = ""
    """Behind it: text that ends within a citation."""
    _found: list[tuple[str | None, Support]] = field(default_factory=list)
    """Of each mark its quotation, and the judgement."""

    def feed(self, text: str, marks: Sequence[CitationMark]) -> None:
        """The next text that was sent, and all marks so far. Judges the sentences that have ended."""
        self._waiting.append(text)
        if ENDS.search(text):
            self._read(marks)

    def end(self, marks: Sequence[CitationMark]) -> None:
        self._read(marks)
        self._judge(self._sentences.end(), marks)

    def told(self, text: str, marks: Sequence[CitationMark], cited: Sequence[str]) -> tuple[Span, ...]:
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

    def _read(self, marks: Sequence[CitationMark]) -> None:
        text = "".join(self._waiting)
        self._waiting.clear()
        for piece in self._sentences.feed(text):
            self._judge(piece, marks)

    def _judge(self, piece: str, marks: Sequence[CitationMark]) -> None:
        self._piece += piece
        text, start = self._said + self._piece, len(self._said)
        here = [mark for mark in marks[len(self._found) :] if mark.start < len(text)]
        if here and here[-1].end > len(text):  # a full stop within a label
            return
        if here:
            sentence = without(self._piece, [(mark.start - start, mark.end - start) for mark in here])
        head = last = -1
        for mark in here:
            # Of several citations in a row, each stands behind what the first stands behind.
            head = head if last >= 0 and not text[last : mark.start].strip(BEHIND) else mark.start
            last = mark.end
            quote = quoted(text[max(0, head - SENTENCE_CHARACTERS) : head])
            self._found.append((quote, compared(quote or sentence, self._text(mark.label))))
        self._said, self._piece = text, ""

    def _text(self, label: str) -> str:
        if label not in self._texts:
            self._texts[label] = plain(self.passages.get(label, "")[:PASSAGE_CHARACTERS])
        return self._texts[label]


def without(text: str, places: Iterable[tuple[int, int]]) -> str:
    """A sentence without its citations, and without the mark of the list's item that it is."""
    kept, at = list[str](), 0
    for start, end in places:
        kept.append(text[at:start])
        at = max(at, end)
    return ITEM.sub("", "".join([*kept, text[at:]]), count=1).strip()
