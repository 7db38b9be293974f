"""The prose check: it finds what it should, and nothing in good English."""

import pytest

from tests.prose import found_in


@pytest.mark.parametrize(
    "text",
    [
        "Whoever asks gets the answer.",
        "The caller is told why.",
        "It stands in for the server.",
        "What has left.",
        "Whether anything has left.",
        "Searched by words and meaning.",
        "All shelves.",
        "Source: PLANS §2.",
    ],
)
def test_private_phrases_are_found(text: str) -> None:
    """In docstrings, comments and pages alike."""
    assert [
        finding.line for finding in found_in("a.py", f'"""Module."""\n\n\ndef f():\n    """{text}"""\n')
    ] == [5]
    assert [finding.line for finding in found_in("a.py", f"x = 1\n# {text}\n")] == [2]
    assert [finding.line for finding in found_in("a.md", f"# Title\n\n- {text}\n")] == [3]


@pytest.mark.parametrize(
    "text",
    [
        "True once the first token was sent.",
        "The error while the breaker is open: 504 after timeouts, otherwise 502.",
        "Lists what was found and who wrote it.",
        "What is wrong with it?",
        "`stands` and `PLANS §2` in backticks.",
    ],
)
def test_plain_english_passes(text: str) -> None:
    """Code, headings and text in backticks are not looked at."""
    assert list(found_in("a.md", f"# What stands\n\n{text}\n\n```\nwhat is told\n```\n\n    is told\n")) == []
    assert list(found_in("a.py", f'"""{text}"""\n\nSTANDS = "is told"\n')) == []
