"""Questions of the asker about himself."""

import pytest

from app.vantage.asker import WHOLE, asked


@pytest.mark.parametrize(
    "text",
    [
        "do you remember me",
        "do you still know who i am",
        "who am i really",
        "how am i doing these days",
        "am i getting better",
        "why am i like this",
        "what am i good at",
        "who do you think i am",
        "tell me about myself",
        "what are my plans",
        "what do you think of me",
        "wer bin ich",
        "qui suis-je",
        "quién soy",
    ],
)
def test_memory_can_tell(text: str) -> None:
    """Who he is, how he is, what is known of him."""
    assert asked(text.split())


@pytest.mark.parametrize(
    "text",
    [
        "do you remember it",
        "do you know what i mean",
        "am i right",
        "am i doing it right",
        "what am i doing wrong",
        "what should i do",
        "what do i do now",
        "how is she doing",
        "what about me",
        "my problem is back",
    ],
)
def test_what_hangs_on_something_else_is_not_told_by_memory(text: str) -> None:
    """A thing, what was said, what is to be done."""
    assert not asked(text.split())


def test_every_whole_phrase_is_found() -> None:
    """The table is spelt as messages are cut."""
    assert [phrase for phrase in WHOLE if not asked(phrase)] == []
