"""Emergencies in German, Spanish and French."""

import pytest

from app.vantage.alarm import alarmed
from app.vantage.calls import either
from app.vantage.topics import terms


def test_one_of_some_words() -> None:
    """A phrase is joined by `_`."""
    assert either("one two_three") == "(?:one|two three)"


@pytest.mark.parametrize(
    ("message", "meant"),
    [
        ("Ich kann nicht mehr atmen!", True),
        ("Meine Tochter hat eine Knopfzelle verschluckt", True),
        ("Mi padre está inconsciente, ayuda", True),
        ("No puedo respirar", True),
        ("Mon fils ne respire plus", True),
        ("Il fait une crise cardiaque", True),
        ("Wenn er nicht atmet, was tun?", False),
        ("La tela no respira", False),
        ("Cette chemise ne respire pas", False),
    ],
)
def test_a_call_is_heard(message: str, meant: bool) -> None:
    """Said of somebody; stuffs and cases thought of are none."""
    assert alarmed(terms(message)) is meant
