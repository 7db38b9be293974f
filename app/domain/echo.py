"""What of a text is the person's own: sentences that only repeat what was heard are left out.

Heard is what was recalled or said by the assistant in the same conversation. Kept as memories, such sentences
would be recalled again, answered with again, and kept again: a loop that drowns what the person said. Pure,
without a model: words are compared, case, punctuation, citations, quotation marks and bullets aside.
Source: issue 3 ("no recall loop"), docs/decisions/0028-memories-written.md.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

SPAN = 3
"""Words compared at a time: two agree by chance all day, four miss a changed word too often."""
SHARE = 0.8
"""Of a sentence's spans that one heard text must hold for it to be an echo."""

MARKER = re.compile(r"\[[^\[\]\n]{1,160}#[^\[\]\n]{1,80}\]|【[^【】\n]{1,200}】")
"""A citation as answers carry it (CONTRACT §0)."""
SOURCES = re.compile(r"(?i)\bsources:\s*(?=\[|【|$)")
GAP = re.compile(r"(?<![ \t])[ \t]+(?=[.,;:!?])")
"""White space before a stop. Tried once a run of it, else long runs take the square of their length."""
BULLET = re.compile(r"^[\s>*•·\-–—]*(?:\d{1,2}[.)]\s+)?")
SENTENCE = re.compile(r"(?<=[.!?…])[\"'»”’)\]]*\s+|(?<=[。！？])")
WORD = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]|[^\W_\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]+")
"""A word; where words are written without spaces (Thai, Japanese, Chinese), a character."""

Span = tuple[str, ...]


class Echoes:
    """What was heard, ready to be compared with."""

    def __init__(self, heard: Iterable[str]) -> None:
        """Half a million characters take a fifth of a second of a processor."""
        self._texts: dict[Span, set[int]] = {}
        self._judged: dict[Span, bool] = {}
        for number, text in enumerate(heard):
            for span in runs(words(plain(text)), range(1, SPAN + 1)):
                self._texts.setdefault(span, set()).add(number)

    def own(self, text: str) -> str:
        """The sentences of `text` with new words, in order; "" if there is none; all new: `text` as it is."""
        sentences = split(text)
        said = [words(sentence) for sentence in sentences]
        kept = [index for index, each in enumerate(said) if each and not self._repeats(each)]
        if len(kept) == sum(map(bool, said)):
            return text if kept else ""
        return " ".join(sentences[index] for index in kept)

    def _repeats(self, said: Sequence[str]) -> bool:
        """Whether one of the heard texts holds (almost) all spans of a sentence."""
        key = tuple(said)
        if key not in self._judged:
            asked = spans(said)
            shared = Counter(number for span in asked for number in self._texts.get(span, ()))
            self._judged[key] = any(count >= SHARE * len(asked) for count in shared.values())
        return self._judged[key]


def spans(said: Sequence[str]) -> list[Span]:
    """Every run of SPAN words; of fewer words the one run there is."""
    return list(runs(said, [min(SPAN, len(said))]))


def runs(said: Sequence[str], sizes: Iterable[int]) -> Iterator[Span]:
    """Every run of these numbers of words."""
    for size in sizes:
        yield from zip(*(said[at:] for at in range(size)), strict=False)


def split(text: str) -> list[str]:
    """Its sentences as they stand, without citations and bullets."""
    lines = (BULLET.sub("", line) for line in plain(text).splitlines())
    pieces = (piece.strip() for line in lines for piece in SENTENCE.split(line))
    return [piece for piece in pieces if piece]


def plain(text: str) -> str:
    """Without citations and the list of sources."""
    bare = MARKER.sub("", SOURCES.sub("", text))
    return GAP.sub("", bare)


def words(text: str) -> list[str]:
    """Its words, folded."""
    return WORD.findall(text.casefold())
