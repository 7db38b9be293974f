"""Languages by name, and their grammars."""

import pytest

from app.intake.language import ENDINGS, EXTENSIONS, GRAMMARS, grammar, language_of


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("app/main.py", "python"),
        ("src/App.TSX", "tsx"),
        ("include/list.h", "c"),
        ("Dockerfile", "dockerfile"),
        ("a/CMakeLists.txt", "cmake"),
        ("notes.txt", "text"),
        ("README", "text"),
        ("photo.jpg", None),
        ("py", None),
        ("archive.tar.gz", None),
    ],
)
def test_a_name_tells_the_language(path: str, language: str | None) -> None:
    """By its ending, or the whole of it; None for what is neither code nor text."""
    assert language_of(path) == language


def test_no_ending_is_two_languages() -> None:
    """Else the order of a table would decide."""
    assert len(ENDINGS) == sum(len(endings.split()) for endings in EXTENSIONS.values())


@pytest.mark.parametrize("language", GRAMMARS)
def test_every_grammar_opens(language: str) -> None:
    """Of the versions that are installed."""
    found = grammar(language)

    assert found is not None
    assert found.node_kind_count > 50


def test_other_languages_have_none() -> None:
    """They are cut by their lines."""
    assert grammar("kotlin") is None
