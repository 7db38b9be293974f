"""The o200k vocabulary, offline and exact."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiktoken_ext import openai_public  # type: ignore[import-untyped] # not marked as typed

from app.retrieval.vocabulary import BLOCK, BLOCKS, PATTERN, RANKS_SHA256, SPECIAL, count, loaded, o200k

MILLION = 1_000_000


def test_the_encoding_is_tiktokens_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pattern, special tokens and the hash of the ranks are those of the installed tiktoken."""
    asked: list[str] = []

    def ranks(_url: str, expected_hash: str) -> dict[bytes, int]:
        asked.append(expected_hash)
        return {}

    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", ranks)
    theirs = openai_public.o200k_base()
    assert (theirs["pat_str"], theirs["special_tokens"], asked) == (PATTERN, SPECIAL, [RANKS_SHA256])


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", []), ("hello world", [24912, 2375])],
    ids=["empty", "two words"],
)
def test_known_ids(text: str, tokens: list[int]) -> None:
    """Texts encode to the ids that o200k_base gives them."""
    assert o200k().encode_ordinary(text) == tokens


def test_loaded_once() -> None:
    """However many threads come first, they share one encoding."""
    loaded.cache_clear()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: o200k(), range(8)))
    assert len({id(encoding) for encoding in found}) == 1
    assert loaded.cache_info().misses == 1


def test_special_tokens_are_plain_text() -> None:
    """A look-alike of a special token counts as the characters it is written with."""
    assert count("<|endoftext|>") == 7


@pytest.mark.parametrize("text", ["\ud800", "a\0b", "\udc80x\ud800", "\x00" * 50], ids=ascii)
def test_odd_characters_count(text: str) -> None:
    """Lone surrogates and NUL are counted, not refused."""
    assert 1 <= count(text) <= 3 * len(text)


@pytest.mark.parametrize("unit", ["x", " ", "\n", "日", "xX", "9", " \n", "-", "a\u0301"], ids=ascii)
def test_runs_of_one_character_take_linear_time(unit: str) -> None:
    """Runs without a place to cut are counted in well under the seconds a quadratic merge takes."""
    size = MILLION if unit in "x " else MILLION // 5
    text = (unit * size)[:size]
    o200k()
    assert size / 130 < count(text) <= size


@settings(deadline=None)  # the first example loads the vocabulary
@given(st.lists(st.text(max_size=12), max_size=400))
def test_blocks_do_not_change_the_count(words: list[str]) -> None:
    """Prose cut into blocks counts as it does whole, whatever the words are."""
    text = " plain ".join(words)
    assert sum(count(part) for part in small_blocks(text)) == len(o200k().encode_ordinary(text))


def small_blocks(text: str) -> list[str]:
    """The blocks of `text`, cut as for long texts but far shorter; every window holds a place to cut."""
    found: list[str] = re.findall(BLOCKS.pattern.replace(f"1,{BLOCK}", "1,90"), text)
    return found
