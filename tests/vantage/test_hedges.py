"""Hedging phrases of a text, counted."""

import pytest

from app.domain.phrases import words
from app.vantage.hedges import HEDGES, hedges


@pytest.mark.parametrize(
    ("text", "count"),
    [
        pytest.param("It is blue.", 0, id="none"),
        pytest.param("Perhaps it is blue. It might be green.", 2, id="two"),
        pytest.param("I think it may be blue.", 2, id="two in a row"),
        pytest.param("As far as I know, it is blue.", 1, id="the longest phrase once"),
        pytest.param("It was signed in May.", 0, id="a month"),
        pytest.param("May I ask why?", 0, id="a courtesy"),
        pytest.param("You may bring a bag; visitors may park here.", 0, id="what is allowed"),
        pytest.param("It usually rains; typically at noon, and generally in May.", 0, id="how often"),
        pytest.param("How kind of you.", 0, id="kind"),
        pytest.param("Vielleicht ist es blau, es könnte sein.", 2, id="German"),
        pytest.param("Tal vez es azul, creo que sí.", 2, id="Spanish"),
        pytest.param("C'est peut-être bleu, à mon avis.", 2, id="French"),
        pytest.param("PERHAPS", 1, id="whatever the case"),
        pytest.param("", 0, id="nothing"),
    ],
)
def test_hedges_are_counted(text: str, count: int) -> None:
    """Each phrase of the table that stands there, and none that only looks like one."""
    assert hedges(words(text)) == count


@pytest.mark.parametrize("language", [name for name in HEDGES if name])
def test_every_phrase_counts_once(language: str) -> None:
    """Alone in a text, each phrase of a language is one hedge."""
    odd = [phrase for phrase in HEDGES[language].split("|") if hedges(words(phrase)) != 1]
    assert odd == []
