"""Counting tokens, and whose vocabulary is o200k."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.answer import Prompt
from app.answering.budget import Meter
from app.models.tokens import O200k
from app.retrieval.vocabulary import loaded
from app.types import Passage

OURS = [
    "gpt-4o", "gpt-4o-mini", "chatgpt-4o-latest", "gpt-4.1-nano", "gpt-5", "gpt-5.2", "GPT-5.2-mini", "o1",
    "o3-mini", "o4-mini", "openai/gpt-5.2", "ft:gpt-4o:acme:x:1", "gpt-oss-120b", "gpt-oss:20b",
    "Jinx-gpt-oss-20b", "/models/Jinx-gpt-oss-20b.gguf", "extractive",
]  # fmt: skip
OTHERS = [
    "gpt-4", "gpt-4-turbo", "gpt-3.5-turbo", "llama3.2", "qwen3:8b", "mistral-small", "o1js-coder",
    "claude-4", "", "phi-o3x", "non-extractive-llama",
]  # fmt: skip


@pytest.mark.parametrize("model", OURS)
def test_families_on_o200k(model: str) -> None:
    """Counts for a model on o200k are taken as they are."""
    assert O200k().factor(model) == 1.0


@pytest.mark.parametrize("model", OTHERS)
def test_other_families_are_estimated(model: str) -> None:
    """A model whose vocabulary is not at hand counts 1.3 times as many."""
    assert O200k().factor(model) == 1.3


@settings(deadline=None)  # the first example loads the vocabulary
@given(st.text(st.characters(), max_size=300), st.text(st.characters(), max_size=300))
def test_any_text_has_a_count(one: str, other: str) -> None:
    """Texts joined never count more than their bytes, and the empty text counts nothing."""
    tokens = O200k()
    joined = tokens.count(one + other)
    assert tokens.count("") == 0
    assert joined <= 3 * len((one + other).encode("utf-8", "surrogatepass"))
    assert (joined == 0) == (one + other == "")


@settings(max_examples=40)
@given(st.lists(st.text(max_size=60), min_size=1, max_size=4))
def test_the_lines_of_a_context_add_up(texts: list[str]) -> None:
    """Counted line by line or whole, a block of any texts has the same tokens (docs/adr/0010)."""
    passages = tuple(
        Passage("documents", str(n), text, 1, f"report-2.pdf#{n}") for n, text in enumerate(texts, 1)
    )
    prompt = Prompt("system", "message", passages)
    assert Meter(O200k().count).context(prompt) == O200k().count(prompt.context)


async def test_a_warm_vocabulary_is_there() -> None:
    """After `warm` no count loads anything."""
    loaded.cache_clear()
    await O200k().warm()
    O200k().count("a word")
    assert loaded.cache_info().misses == 1


@given(st.text(max_size=60))
def test_a_token_is_a_byte_at_least(text: str) -> None:
    """So that bytes bound tokens (`Meter.most`); half a surrogate pair counts as three."""
    assert O200k().count(text) <= len(text.encode("utf-8", "surrogatepass"))
