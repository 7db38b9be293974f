"""Questions that name nothing but a time."""

import pytest

from app.text.dates import LONGEST, timely


@pytest.mark.parametrize(
    "question",
    [
        "What did I do last Tuesday?",
        "what happened yesterday",
        "What have I done since 7 May 2023?",
        "Where was I on 2023-05-07?",
        "Was habe ich am 3. Mai 2026 gemacht?",
        "Was war letzte Woche los?",
        "¿Qué hice el martes pasado?",
        "¿Qué pasó en mayo?",
        "Qu'ai-je fait hier ?",
        "Qu'est-ce que j'ai fait la semaine dernière ?",
    ],
)
def test_who_names_a_time_alone_is_understood(question: str) -> None:
    """In four languages."""
    assert timely(question)


@pytest.mark.parametrize(
    "question",
    [
        "What did I eat last Tuesday?",
        "What did Anna do yesterday?",
        "What was Apple's revenue in May 2023?",
        "Which note 45 was of May?",
        "Wann habe ich den Garten umgegraben?",
        "¿Qué comí el martes pasado?",
        "Qu'ai-je mangé hier ?",
        "昨日は何をしましたか",
        "yesterday",
        "How are you today?",
        "I do not think so, not today",
        "How many steps did I do yesterday?",
        "¿Cuántos pasos hice ayer?",
        "Combien de pas ai-je fait hier ?",
        "How many calories did I have yesterday?",
        "How many people were there in 2021?",
        "How many days are there in 2024?",
        "What day was 7 May 2023?",
        "Wie viel Euro sind das heute?",
        "What did I do in C last week?",
        "What did Will do yesterday?",
        "What did April do last week?",
        "Did WHO say so in 2020?",
        "What did US do in 2021?",
        "yesterday " * (LONGEST + 1),
        "yesterday" + " " * 1_000 + "I swam",
    ],
)
def test_who_names_more_asks_for_more(question: str) -> None:
    """A memory of that time alone is no answer to it."""
    assert not timely(question)
