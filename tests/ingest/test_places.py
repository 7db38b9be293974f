"""Where a passage is on its pages, if it is not there word for word: repeated texts, rows in another order,
heads of tables, letters that differ. What is not sure has no box."""

import io
from collections.abc import Iterator
from contextlib import contextmanager

import pypdfium2 as pdfium
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ingest.places import boxes
from tests.fakes.pdfs import HEIGHT, text_pdf

NOTE = "Amounts are reported on a gross basis in the consolidated balance sheets of the harbour."


@contextmanager
def document(*texts: str) -> Iterator[pdfium.PdfDocument]:
    pdf = pdfium.PdfDocument(io.BytesIO(text_pdf(texts)))
    try:
        yield pdf
    finally:
        pdf.close()


def boxed(text: str, *texts: str, quote: str = "") -> list[list[str]]:
    """The lines of the pages that have a box, by page; of the quotation if there is one."""
    found: list[list[str]] = []
    with document(*texts) as pdf:
        places = boxes(pdf, 1, len(texts), text, quote)
        for number, rects in places.quote_boxes if quote else places.boxes:
            page = pdf[number - 1].get_textpage()
            points = [
                (x0 * 612 - 1, HEIGHT * (1 - y1), x1 * 612 + 1, HEIGHT * (1 - y0)) for x0, y0, x1, y1 in rects
            ]
            found.append([page.get_text_bounded(*each).strip() for each in points])
    return found


def test_a_repeated_text_is_found_by_what_is_around_it() -> None:
    page = f"North basin, assets of the year\n{NOTE}\nSouth basin, liabilities of the year\n{NOTE}\nThe end"
    assert boxed(f"South basin (a), liabilities of the year | {NOTE} The end", page) == [
        ["South basin, liabilities of the year", NOTE, "The end"]
    ]
    assert boxed(f"{NOTE} Something else that is not there.", page) == []


def test_a_page_number_within_a_passage_has_no_box() -> None:
    texts = "The keeper counts the ships that call at\n17", "the harbour twice a week, and notes their names."
    assert boxed(" ".join((texts[0].partition("\n")[0], texts[1])), *texts) == [
        ["The keeper counts the ships that call at"],
        [texts[1]],
    ]


def test_rows_of_a_table_may_have_another_order() -> None:
    """By their letters; a row that fits twice has no box."""
    page = "Harbour ships 2,301 1,145\nRiver barges 512 418\nTolls 77 10\nTolls 10 77"
    text = "Harbour ships | 1,145 | 2,301\nRiver barges | 418 | 512\nTolls 7 | 01 | 7"
    assert boxed(text, page) == [["Harbour ships 2,301 1,145", "River barges 512 418"]]


def test_the_head_of_a_table_is_right_above_its_rows() -> None:
    """Not where the same words are the head of another one."""
    one = "Fair values\nLevel 1 Level 2\nRopes and anchors 11 12\nSails and masts 13 14"
    two = "Fair values\nLevel 1 Level 2\nLanterns and wicks 21 22\nBuoys and chains 23 24"
    head = "| Fair values Level 1 | Fair values Level 2\n--- | --- | ---"
    text = f"{head}\nLanterns and wicks | 21 | 22\nBuoys and chains | 23 | 24"
    assert boxed(text, f"{one}\n{two}") == [
        ["Fair values", "Level 1 Level 2", "Lanterns and wicks 21 22", "Buoys and chains 23 24"]
    ]


@pytest.mark.parametrize("quote", ["counts NINE ships", "counts nine-ships."])
def test_a_quotation_is_found_within_its_passage(quote: str) -> None:
    """By its letters, also where the same words are elsewhere on the page."""
    page = f"He counts nine ships.\n{NOTE} The keeper counts nine ships. {NOTE}"
    (found,) = boxed(f"{NOTE} The keeper counts nine ships. {NOTE}", page, quote=quote)
    assert len(found) == 1
    assert found[0].startswith("counts nine ships")


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_is_looked_for(text: str, quote: str) -> None:
    """Rectangles are within the page."""
    with document(NOTE) as pdf:
        found = boxes(pdf, 1, 1, text + NOTE[:40], quote)
        assert all(
            0 <= x <= 1 for _, rects in found.boxes + found.quote_boxes for rect in rects for x in rect
        )
