"""Cutting text: where sentences end, and how what does not fit is divided."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.intake.sentence import fitting, sentences, slices
from app.retrieval.vocabulary import count


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("He paid $3.5 million. Then left.", ["He paid $3.5 million.", "Then left."]),
        ("Mr. Smith of Acme Inc. was there.", ["Mr. Smith of Acme Inc. was there."]),
        ("The U.S. Dollar fell. E.g. here.", ["The U.S. Dollar fell.", "E.g. here."]),
        ("See www.example.com for more.", ["See www.example.com for more."]),
        ("“It ended.” She left.", ["“It ended.”", "She left."]),
        ("Wait... what? No.", ["Wait... what?", "No."]),
        ("你好。再见！是吗？好", ["你好。", "再见！", "是吗？", "好"]),
        ("これは「本。」です。はい。", ["これは「本。」", "です。", "はい。"]),
        ("كيف حالك؟ بخير. شكرا", ["كيف حالك؟", "بخير.", "شكرا"]),
        ("यह एक है। वह दो है।", ["यह एक है।", "वह दो है।"]),
        ("یہ ایک ہے۔ وہ دو ہے۔", ["یہ ایک ہے۔", "وہ دو ہے۔"]),
        ("Это так. Да.", ["Это так.", "Да."]),
        ("", [""]),
    ],
)  # fmt: skip
def test_sentences_end_where_their_script_ends_them(text: str, found: list[str]) -> None:
    """Abbreviations, figures and addresses end none."""
    assert [sentence.strip() for sentence in sentences(text)] == found


@settings(deadline=None)
@given(st.text("aB.!? ,;\n。؟“”)1", max_size=300), st.integers(1, 60))
def test_pieces_are_the_text_again_and_fit(text: str, limit: int) -> None:
    """Nothing is lost, nothing is over."""
    found = fitting(text, limit * 4, count)
    assert "".join(piece for piece, _ in found) == text
    assert all(tokens <= max(limit * 4, 64 * 4) for _, tokens in found)


@settings(deadline=None)
@given(st.text(max_size=400), st.integers(256, 300))
def test_any_text_can_be_cut_to_fit(text: str, limit: int) -> None:
    """In any script, sized as counted."""
    found = fitting(text * 20, limit, count)
    assert "".join(piece for piece, _ in found) == text * 20
    assert all(count(piece) <= limit + 8 for piece, _ in found)


def test_an_endless_word_is_cut_by_characters() -> None:
    """Text without any place to cut fits all the same."""
    found = fitting("x" * 100_000, 200, count)
    assert "".join(piece for piece, _ in found) == "x" * 100_000
    assert max(tokens for _, tokens in found) <= 200
    assert len(found) < 400


def test_a_letter_keeps_its_marks() -> None:
    """A cut never parts a vowel sign from its letter."""
    assert not any(piece[0] == "ि" for piece in slices("कि" * 500))
