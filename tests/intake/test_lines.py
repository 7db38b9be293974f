"""Lines that are weighed, and where they may be divided."""

from hypothesis import given
from hypothesis import strategies as st

from app.intake.lines import Lines


def words(text: str) -> int:
    """A weight that is easy to see."""
    return len(text.split())


def lines(text: str) -> Lines:
    """Weighed by words."""
    return Lines(text, words)


def test_a_blank_line_weighs_nothing_and_any_other_something() -> None:
    """Also one whose weigher finds nothing in it."""
    found = Lines("a b\n \t\nc", lambda _: 0)

    assert [found.weight(at, at) for at in range(3)] == [1, 0, 1]


def test_lines_end_as_their_file_has_it() -> None:
    """With CR LF too; by CR alone only where there is no LF."""
    for ending in ("\n", "\r\n", "\r"):
        found = lines(f"a{ending}bü{ending}c")
        assert len(found) == 3
        assert [found.of_byte(at) for at in (0, 1 + len(ending), len(found.data) - 1)] == [0, 1, 2]
        assert found.slice(1, 1) == "bü"
        assert found.slice(0, 1) == f"a{ending}bü"


def test_a_part_ends_before_a_blank_line() -> None:
    """Rather than where it is full."""
    found = lines("a\nb\nc\n\nd\ne\nf")

    assert found.breaking(0, 6, 5) == 2


def test_a_part_ends_before_what_is_little_indented() -> None:
    """Where no line is blank."""
    text = "\n".join(["for a in b:", "    one", "    two", "for c in d:", "    three", "    four"])

    assert lines(text).breaking(0, 5, 11) == 2


def test_a_part_has_one_line_at_least() -> None:
    """However heavy."""
    assert lines("a b c d e f g\nh").breaking(0, 1, 3) == 0


@given(st.text(st.sampled_from("ab ,;\t"), min_size=1, max_size=400), st.integers(3, 30))
def test_a_long_line_comes_in_pieces_that_fit(text: str, limit: int) -> None:
    """All of it but white space, in order."""
    found = lines(text)
    pieces = list(found.texts(0, 0, limit)) if text.strip() else []

    assert "".join("".join(pieces).split()) == "".join(text.split())
    assert all(found.heavy(piece) <= limit for piece in pieces)
