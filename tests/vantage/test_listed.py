"""Questions that are asked of the asker, and those that are what was asked for."""

import pytest

from app.vantage.listed import counted
from app.vantage.sentence import sentences

LIST = "1. Which city?\n2. Which year?\n3. Which hotel?"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        pytest.param("Which city? Which year? Which hotel?", 3, id="in a row"),
        pytest.param(f"Questions for the guide:\n{LIST}", 0, id="a list"),
        pytest.param(f"Questions for the guide:\n{LIST}\nShall I add more?", 1, id="and one behind it"),
        pytest.param(f"Could you tell me:\n{LIST}", 3, id="a list to answer"),
        pytest.param("- Which city?\n- Which year?", 2, id="too few for a list"),
        pytest.param(
            "Q: Which city?\nA: Rome.\n**Which year?**\n2019.\n# Which hotel?\nNone.", 0, id="a FAQ"
        ),
        pytest.param("Rome.", 0, id="none"),
    ],
)
def test_questions_to_the_asker_are_counted(text: str, count: int) -> None:
    """Those of a FAQ or a list are the text's own."""
    assert counted(sentences(text)) == count
