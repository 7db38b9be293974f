"""What is written into forms and annotations is read where it is seen, and nothing else of them is."""

from io import BytesIO

import pytest

from app.errors import PdfUnreadable
from app.intake.worker import parse
from tests.fakes.forms import annotated_pdf, field, form_pdf

HIDDEN, NO_VIEW = "/F 2", "/F 32"


def text(pdf: bytes) -> str:
    """Of the document."""
    return "\n".join(chunk.text for chunk in parse(BytesIO(pdf), "a.pdf", 50).chunks)


def free_text(rect: str, words: str, entries: str = "") -> bytes:
    """A text typed onto the page."""
    return f"<< /Type /Annot /Subtype /FreeText /Rect [{rect}] /Contents ({words}) {entries} >>".encode()


def test_a_filled_form_says_its_values_beside_its_labels() -> None:
    """Texts, choices as they are shown, what is ticked; not what is not."""
    said = text(form_pdf())

    for line in ("Ship ship: Aurora Borealis", "Harbour harbour: Tromso", "Draught draught: deep"):
        assert line in said
    assert "Dangerous goods dangerous: Yes\nPassengers\n" in said
    assert said.endswith("The harbour master decides within a week.")
    assert "shallow" not in said


def test_texts_typed_onto_the_page_are_read_at_their_place() -> None:
    """Between the lines above and below, also on a page without any other text."""
    assert (
        text(annotated_pdf([free_text("72 600 300 640", "Paid in full")]))
        == "Report of the year\nPaid in full"
    )
    assert text(annotated_pdf([free_text("72 600 300 640", "Paid in full")], text="")) == "Paid in full"


def test_a_field_is_called_as_its_reader_knows_it() -> None:
    """By its label for people, if it has one; letters of any script."""
    fields = [
        field(
            "72 600 300 620",
            "/FT /Tx /T (f1_01[0]) /TU (Full name) /V <FEFF00C9006D0069006C00650020D83DDE00>",
        ),
        field(
            "72 570 300 590",
            "/FT /Ch /T (fruit) /Ff 2097152 /Opt [[(a) (Apple)] [(b) (Fig)] [(c) (Pear)]] /V [(a) (c)]",
        ),
    ]
    said = text(annotated_pdf(fields))

    assert "Full name: Émile 😀" in said
    assert "fruit: Apple, Pear" in said


@pytest.mark.parametrize(
    "annotation",
    [
        free_text("72 600 300 640", "Unseen", HIDDEN),
        free_text("72 600 300 640", "Unseen", NO_VIEW),
        free_text("900 600 990 640", "Unseen"),
        free_text("72 600 72 600", "Unseen"),
        b"<< /Type /Annot /Subtype /Text /Rect [72 600 90 620] /Contents (Unseen) >>",
        field("72 600 300 620", f"/FT /Tx /T (a) /V (Unseen) {HIDDEN}"),
        field("72 600 300 620", "/FT /Tx /T (a) /Ff 8192 /V (Unseen)"),
        field("72 600 300 620", "/FT /Btn /T (Unseen) /Ff 65536 /MK << /CA (Unseen) >>"),
        field("72 600 300 620", "/FT /Tx /T (Unseen)"),
    ],
    ids=[
        "hidden",
        "no view",
        "off the page",
        "no size",
        "note",
        "hidden field",
        "password",
        "button",
        "empty",
    ],
)
def test_what_nobody_sees_on_the_page_is_not_read(annotation: bytes) -> None:
    """Nor what is only a note about it."""
    assert text(annotated_pdf([annotation])) == "Report of the year"


def test_a_value_that_the_page_shows_itself_is_read_once() -> None:
    """A form that was printed into its page keeps its fields."""
    drawn = field("72 715 200 732", "/FT /Tx /T (title) /V (Report of the year)")
    assert text(annotated_pdf([drawn])) == "Report of the year"


def test_a_page_that_asks_to_wait_for_another_is_refused() -> None:
    """A dynamic XFA form has no page of its own."""
    waiting = annotated_pdf([], text="Please wait...", catalog=b"/XFA (x)").replace(
        b"/Type /Catalog", b"/NeedsRendering true /Type /Catalog", 1
    )
    with pytest.raises(PdfUnreadable, match="XFA"):
        text(waiting)


def test_scripts_of_a_form_are_not_run() -> None:
    """Neither of the document nor of its fields."""
    script = "<< /S /JavaScript /JS (this.getField\\('a'\\).value = 'changed') >>"
    fields = [
        field("72 600 300 620", f"/FT /Tx /T (a) /V (given) /AA << /K {script} /F {script} /C {script} >>")
    ]
    assert "a: given" in text(annotated_pdf(fields, catalog=b"/CO [6 0 R]"))
