"""The language of a text, as far as similarity needs it."""

import pytest

from app.text.languages import is_english


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("What was the revenue of Pfizer in 2021?", True),
        ("Was ist die Gaußsche Krümmung einer Fläche?", False),
        ("¿Cuánto dinero gana la empresa en un año?", False),
        ("est-ce que la société a beaucoup de dettes ?", False),
        ("AMD R&D expense 2014", None),
        ("Сколько стоит билет?", None),
        ("", None),
    ],
)
def test_function_words_tell_english_from_other_languages(text: str, *, english: bool | None) -> None:
    assert is_english(text) is english
