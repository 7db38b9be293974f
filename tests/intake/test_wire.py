"""The line between worker and service."""

from dataclasses import asdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.db.documents import Chunk, Parsed
from app.errors import BadInput, NotPdf, PdfDamaged, PdfEncrypted, PdfTextless, PdfTooComplex
from app.intake.wire import heard, line, refusal, told

CHUNK = Chunk(ordinal=1, text="a\nb", page=1, page_end=2, heading="A › B", tokens=3)


@settings(deadline=None)
@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"]))),
    st.text(st.characters(exclude_categories=["Cs"])),
)
def test_a_result_arrives_as_it_was_told(texts: list[str], title: str) -> None:
    """Whatever the text holds."""
    chunks = tuple(Chunk(n, text, 1, 1, "", 1) for n, text in enumerate(texts, 1))
    parsed = Parsed(3, title, chunks)
    assert heard(told(parsed)) == parsed


@pytest.mark.parametrize("kind", [NotPdf, PdfDamaged, PdfEncrypted, PdfTextless, PdfTooComplex])
def test_a_refusal_arrives_as_its_problem(kind: type[BadInput]) -> None:
    """With its detail."""
    with pytest.raises(kind, match="12 pages"):
        raise refusal({"fault": kind.slug, "detail": "12 pages"})


@pytest.mark.parametrize(
    "output",
    [
        b"",
        b"{}",
        b"[]",
        b"1\n2",
        b"nonsense",
        b"\xff\xfe",
        b'{"pages": 1}',
        told(Parsed(2, "", (CHUNK,)))[:-12],
        told(Parsed(2, "", (CHUNK, CHUNK))),
        b'{"pages": 1, "title": ""}\n{"no": "chunk"}',
    ],
)
def test_half_an_answer_counts_for_nothing(output: bytes) -> None:
    """What breaks off, or is of another form, is damage."""
    with pytest.raises(PdfDamaged):
        heard(output)


def said(head: dict[str, object] | None = None, **changed: object) -> bytes:
    """A result of one chunk, with these values in the place of good ones."""
    first = {"pages": 2, "title": "", **(head or {})}
    return b"\n".join(map(line, (first, {**asdict(CHUNK), **changed})))


def test_a_good_result_is_taken() -> None:
    """What the bad ones below differ from."""
    assert heard(said()) == Parsed(2, "", (CHUNK,))


@pytest.mark.parametrize(
    "output",
    [
        said({"pages": "2"}),
        said({"pages": 2.5}),
        said({"pages": True}, page=1, page_end=1),
        said({"pages": 0}),
        said({"pages": 2**31}),
        said({"title": None}),
        said({"title": ["a"]}),
        said(ordinal=2),
        said(ordinal="1"),
        said(ordinal=True),
        said(text=None),
        said(text=["a"]),
        said(heading=3),
        said(page=0),
        said(page="1"),
        said(page=2, page_end=1),
        said(page_end=3),
        said(tokens=-1),
        said(tokens=1.5),
        said(tokens=2**31),
        b"[" * 100_000,
    ],
)
def test_a_value_of_another_kind_or_range_is_damage(output: bytes) -> None:
    """A worker that a file has taken over says what it likes; nothing of it reaches the record."""
    with pytest.raises(PdfDamaged):
        heard(output)


@pytest.mark.parametrize("payload", [{}, {"fault": "unknown", "detail": ""}, {"fault": ["pdf-damaged"]}])
def test_a_refusal_that_is_not_known_is_damage(payload: dict[str, object]) -> None:
    """Its words are not repeated."""
    assert isinstance(refusal(payload), PdfDamaged)


def test_a_refusals_detail_is_cut() -> None:
    """It is kept in a row."""
    assert len(refusal({"fault": "pdf-damaged", "detail": "x" * 100_000}).detail) == 1_000
