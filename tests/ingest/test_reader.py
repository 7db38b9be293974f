"""What PDFium reads of a PDF: lines, places, type, outline, forms, title, and what cannot be read."""

import random
from io import BytesIO
from pathlib import Path

import pytest

from app.errors import IbidError, PdfDamaged, PdfEncrypted, PdfTooComplex, PdfUnreadable
from app.ingest import reader
from app.ingest.lines import Bookmark, Line, clean
from app.ingest.reader import is_readable
from app.ingest.titles import document_title
from app.ingest.worker import parse
from app.types import ParsedDocument
from tests.fakes.lines import BOLD, TITLE, line
from tests.fakes.pdfs import (
    annotated_pdf,
    assemble,
    damaged_pdf,
    empty_pdf,
    encrypted_pdf,
    field,
    form_pdf,
    glyph_pdf,
    leaves,
    ledger_pdf,
    letters_pdf,
    script_pdf,
    stream,
    text_pdf,
)


def opened(path: Path, data: bytes) -> list[Line]:
    """The lines of these bytes."""
    path.write_bytes(data)
    with reader.opened(path, max_pages=100) as pdf:
        return reader.lines(pdf)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a test puts its PDF."""
    return tmp_path / "a.pdf"


def test_lines_stand_in_order_with_their_physical_page(path: Path) -> None:
    """Pages count from 1, whatever is printed on them, and blank lines are left out."""
    lines = opened(path, text_pdf(["First.\n\nSecond.", "Third."], footer="{page}"))
    assert [(line.page, line.text) for line in lines if len(line.text) > 1] == [
        (1, "First."),
        (1, "Second."),
        (2, "Third."),
    ]


def test_a_line_knows_its_place_and_type(path: Path) -> None:
    """A heading is larger and bold, text below it lies lower."""
    heading, text = [line for line in opened(path, text_pdf("# Big\nSmall text.")) if line.text != " "]
    assert heading.style.bold
    assert not text.style.bold
    assert heading.style.size > 1.4 * text.style.size
    assert heading.bottom > text.top
    assert heading.left == pytest.approx(text.left, abs=2)


def test_a_bold_word_does_not_make_a_bold_line(path: Path) -> None:
    """Only a line whose first and last letter are bold is bold."""
    shown = stream(b"BT /B 10 Tf 72 700 Td (Bold) Tj /F 10 Tf ( then plain) Tj ET")
    fonts = [b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica%s >>" % kind for kind in (b"-Bold", b"")]
    [line] = opened(path, leaves([shown], b"/Font << /B 3 0 R /F 4 0 R >>", fonts))
    assert line.text == "Bold then plain"
    assert not line.style.bold


def test_a_double_letter_that_looks_like_a_copy_is_read_twice(path: Path) -> None:
    """A slanted f covers the next one, which PDFium drops where each letter is drawn alone. Letters that are
    drawn twice to look bold are read once."""
    lines = opened(path, letters_pdf("materially affected if of ice", twice="ice"))
    assert [line.text for line in lines] == ["materially affected if of ice"]


def test_words_that_are_drawn_letter_by_letter_are_whole(path: Path) -> None:
    """PDFium ends the line behind each letter of such a page, if it takes it to be written downwards."""
    lines = clean(opened(path, ledger_pdf([("Sales of ice", "1,204")] * 60)))
    assert [line.text for line in lines] == ["Sales of ice 1,204"] * 60


def test_places_hold_behind_characters_outside_the_basic_plane(path: Path) -> None:
    """PDFium counts UTF-16 units: a line after emoji still has its own place."""
    first, second = opened(path, script_pdf(["😀" * 40 + " end\nnext line"]))
    assert first.text.endswith("😀 end")
    assert second.text == "next line"
    assert second.left == pytest.approx(first.left, abs=1)
    assert second.top < first.bottom + 5


@pytest.mark.parametrize(
    "text", ["مرحبا بالعالم", "你好，世界。", "नमस्ते दुनिया।", "Привет, мир!"], ids=["ar", "zh", "hi", "ru"]
)
def test_every_script_is_read(path: Path, text: str) -> None:
    """Text comes out as it reads, right-to-left scripts too."""
    assert [line.text for line in opened(path, script_pdf([text]))] == [text]


@pytest.mark.parametrize(
    ("data", "problem", "said"),
    [
        (encrypted_pdf(), PdfEncrypted, "password"),
        (damaged_pdf("garbage"), PdfDamaged, "structure"),
        (damaged_pdf("truncated"), PdfDamaged, "structure"),
        (damaged_pdf("treeless"), PdfDamaged, "structure"),
        (b"%PDF-1.7\n", PdfDamaged, "structure"),
        (empty_pdf(101), PdfTooComplex, "101 pages; at most 100"),
    ],
    ids=["encrypted", "garbage", "truncated", "treeless", "header", "pages"],
)
def test_what_cannot_be_opened_says_why(path: Path, data: bytes, problem: type[IbidError], said: str) -> None:
    """Each refusal is its own problem, and its detail says what was found."""
    with pytest.raises(problem) as refused:
        opened(path, data)
    assert said in refused.value.detail


def test_an_empty_password_opens(path: Path) -> None:
    """A PDF protected against changes alone is read."""
    assert opened(path, encrypted_pdf("Open to all.", user=""))[0].text == "Open to all."


def test_pages_that_cannot_be_read_are_damage_only_if_all_are(path: Path) -> None:
    """A document with a broken page gives the others."""
    loop = b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >>"
    with pytest.raises(PdfDamaged, match="2 pages, none of which"):
        opened(path, assemble([b"<< /Type /Catalog /Pages 2 0 R >>", loop]))


def test_more_text_than_is_taken_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text has a limit of its own, beside memory and time."""
    monkeypatch.setattr(reader, "MAX_CHARS", 100)
    with pytest.raises(PdfTooComplex, match="100 characters of text by page 2"):
        opened(path, text_pdf(["x" * 60] * 3))


def test_the_outline_and_the_title_are_the_files_own(path: Path) -> None:
    """Bookmarks have level, page and place; the title is its metadata's, on one line."""
    data = text_pdf(["One.", "Two."], title="On\nOutlines", outline=[("Top", 1, 0), ("Below", 2, 1)])
    path.write_bytes(data)
    with reader.opened(path, max_pages=10) as pdf:
        first, second = reader.outline(pdf)
        assert reader.metadata_title(pdf) == "On Outlines"
    assert (first.title, first.level, first.page) == ("Top", 0, 1)
    assert (second.title, second.level, second.page) == ("Below", 1, 2)


def test_a_circular_outline_ends(path: Path) -> None:
    """Bookmarks that follow themselves are read once."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R /Outlines 3 0 R >>",
        b"<< /Type /Pages /Kids [5 0 R] /Count 1 >>",
        b"<< /Type /Outlines /First 4 0 R /Last 4 0 R >>",
        b"<< /Title (Again) /Parent 3 0 R /Next 4 0 R /Dest [5 0 R /Fit] >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] >>",
    ]
    path.write_bytes(assemble(objects))
    with reader.opened(path, max_pages=10) as pdf:
        assert reader.outline(pdf) == [Bookmark("Again", 0, 1)]


def test_rows_close_to_each_other_are_lines_of_their_own(path: Path) -> None:
    """PDFium takes them for one where they nearly touch."""
    rows = [(f"Row {n}", f"{n},000", f"{n},500") for n in range(1, 6)]
    shown = "".join(
        f"1 0 0 1 72 {700 - 9 * n} Tm ({row[0]}) Tj 1 0 0 1 300 {700 - 9 * n} Tm ({row[1]}) Tj "
        f"1 0 0 1 400 {700 - 9 * n} Tm ({row[2]}) Tj "
        for n, row in enumerate(rows)
    )
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    data = leaves([stream(f"BT /F 10 Tf {shown} ET".encode())], b"/Font << /F 3 0 R >>", [font])
    assert [line.text for line in opened(path, data)] == [" ".join(row) for row in rows]


HARBOUR = (
    "The harbour lies in the north of the island. Ships call there twice a week,\n"
    "and the ferry leaves the pier in the morning when the tide allows it.\n"
    "Revenue increased by twelve percent compared with the previous year."
)


READABLE = {
    "numbers": "1,234 5,678 (12.3) 45 % $ 7.00\n" * 20,
    "formulas": "∑ x² + y² = z² ∈ ℝ ∀ε>0 ∃δ: |f(x) − f(y)| < ε\n" * 10,
    "code": "def f(x: int) -> int:\n    return {k: v for k, v in g(x).items() if v}[0] ** 2  # why\n" * 10,
    "assembler": "mov eax, ebx\npush ebp\nsub esp, 0x20\ncall memcpy\njne 0x7ffe\nmovzx ecx, al\n" * 10,
    "bases": "gatcctccat atacaacggt atctccacct caggtttaga tctcaacaac ggaaccattg\n" * 10,
    "proteins": "MVLSPADKTN VKAAWGKVGA HAGEYGAEAL ERMFLSFPTT KTYFPHFDLS\n" * 10,
    "tickers": "AAPL MSFT GOOG AMZN TSLA NVDA META NFLX ADBE INTC CSCO ORCL QCOM\n" * 10,
    "chinese": "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心。\n" * 10,
    "japanese": "すべての人間は、生まれながらにして自由であり、平等である。\n" * 10,
    "arabic": "يولد جميع الناس أحرارا متساوين في الكرامة والحقوق.\n" * 10,
    "hindi": "सभी मनुष्यों को गौरव और अधिकारों के मामले में समानता प्राप्त है।\n" * 10,
    "hebrew": "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם.\n" * 10,
    "thai": "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ\n" * 10,
    "amharic": "የሰው ልጅ ሁሉ ሲወለድ ነጻና በክብርና በመብትም እኩልነት ያለው ነው።\n" * 10,
    "cherokee": "ᎾᏂᎥ ᏴᏫ ᎨᏥᏛᏅᎢᏍᏔᏅ ᎨᏒ ᎠᎴ ᎤᏂᏠᏱᏭ ᎨᏒ ᎢᎦᏰᎳ ᏕᎯᏂᏲᎢᏍᏗ\n" * 10,
    "welsh": "Genir pawb yn rhydd ac yn gydradd â'i gilydd mewn urddas a hawliau.\n" * 10,
    "hungarian": "Minden emberi lény szabadon születik és egyenlő méltósága van.\n" * 10,
    "hmong": "Tag nrho cov tib neeg yug los muaj kev ywj pheej thiab muaj vaj huam sib luag.\n" * 10,
    "two languages": "人人生而自由 All human beings are born free يولد جميع الناس أحرارا\n" * 10,
    "bullets of Symbol": "\uf0b7 \uf0b7 \uf0b7 a",
    "nothing": "",
}


def read(pdf: bytes) -> ParsedDocument:
    """What a worker makes of it."""
    return parse(BytesIO(pdf), "a.pdf", 50)


def moved(text: str, by: int) -> str:
    """Letters further on in the alphabet."""
    return "".join(
        chr((ord(char.lower()) - 97 + by) % 26 + 97) if char.isascii() and char.isalpha() else char
        for char in text
    )


@pytest.mark.parametrize("text", READABLE.values(), ids=READABLE)
def test_what_can_be_read_is_no_noise(text: str) -> None:
    """Whatever the script and kind of text."""
    assert is_readable(text, lambda: 0)


@pytest.mark.parametrize("kind", ["chinese", "arabic", "hindi", "cherokee", "two languages"])
def test_a_pdf_in_any_script_is_taken(kind: str) -> None:
    """Its fonts map their glyphs."""
    assert read(script_pdf([READABLE[kind]])).chunks


def test_glyphs_without_a_map_are_refused() -> None:
    """What PDFium makes of them is no text: `7KH KDUERXU` for "The harbour"."""
    with pytest.raises(PdfUnreadable, match="2 pages with text"):
        read(glyph_pdf([HARBOUR, HARBOUR]))


def test_glyphs_that_are_numbered_as_their_letters_are_taken() -> None:
    """As old programs did: there is no map, and none is needed."""
    assert "ferry leaves the pier" in read(glyph_pdf([HARBOUR], shift=0)).chunks[0].text


def test_pages_that_can_be_read_are_kept() -> None:
    """The others are passed over."""
    parsed = read(glyph_pdf([HARBOUR, f"={HARBOUR}", HARBOUR]))

    assert parsed.pages == 3
    assert {(chunk.page, chunk.page_end) for chunk in parsed.chunks} == {(2, 2)}
    assert "ferry leaves the pier" in parsed.chunks[0].text
    assert not any("KDUERXU" in chunk.text for chunk in parsed.chunks)


def test_a_page_of_which_the_most_can_be_read_is_kept() -> None:
    """A few glyphs without a map stand among letters that have one."""
    text = " يبيبَح\u02f4 ϲΒϴΒhabibi يبيبَح"
    assert is_readable(text, lambda: 6)
    assert not is_readable(text, lambda: 20)


@pytest.mark.parametrize("char", ["\ue123", "\ufffd", "\u0378"], ids=["private", "replaced", "unassigned"])
def test_characters_without_a_meaning_are_refused(char: str) -> None:
    """A font maps to them what it has no name for."""
    with pytest.raises(PdfUnreadable):
        read(script_pdf([f"a {char * 30} {char * 20}"]))


def test_letters_in_the_place_of_others_are_refused() -> None:
    """A character map that says other letters than those that are seen."""
    alphabet = list("abcdefghijklmnopqrstuvwxyz")
    random.Random(1).shuffle(alphabet)  # noqa: S311 - no secret
    replaced = str.maketrans("abcdefghijklmnopqrstuvwxyz", "".join(alphabet))
    for text in (moved(HARBOUR, 1), moved(HARBOUR, 3), HARBOUR.lower().translate(replaced)):
        with pytest.raises(PdfUnreadable):
            read(script_pdf([f"{text}\n{text}"]))


HIDDEN, NO_VIEW = "/F 2", "/F 32"


def text(pdf: bytes) -> str:
    return "\n".join(chunk.text for chunk in parse(BytesIO(pdf), "a.pdf", 50).chunks)


def free_text(rect: str, words: str, entries: str = "") -> bytes:
    """A text typed onto the page."""
    return f"<< /Type /Annot /Subtype /FreeText /Rect [{rect}] /Contents ({words}) {entries} >>".encode()


def test_a_filled_form_says_its_values_beside_its_labels() -> None:
    """Texts, choices as they are shown, what is ticked; not what is not."""
    said = text(form_pdf())

    for filled in ("Ship ship: Aurora Borealis", "Harbour harbour: Tromso", "Draught draught: deep"):
        assert filled in said
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


TEXT_LINES = [
    line("A line of text that is longer than any heading of this page.", row=row) for row in range(2, 9)
]


@pytest.mark.parametrize(
    ("given", "called"),
    [
        ("Annual Report 2022", "Annual Report 2022"),
        ("Microsoft Word - Annual Report", "Annual Report"),
        ("Jahresbericht — Übersicht", "Jahresbericht — Übersicht"),
        ("年度报告", "年度报告"),
        ("x" * 500, "x" * 160),
    ],
)
def test_its_own_title_comes_first(given: str, called: str) -> None:
    """As the file says it, at most 160 characters."""
    assert document_title(given, [line("Larger", style=TITLE), *TEXT_LINES], "a.pdf") == called


@pytest.mark.parametrize(
    "given",
    ["", "untitled", "Microsoft Word - F20_10K.docx", "0001193125-22-185257", "report.indd", "Document1"],
)
def test_titles_that_a_program_chose_are_not_taken(given: str) -> None:
    """Then the largest line of the first page says it."""
    lines = [line("10 K", style=TITLE), line("The Largest Line", row=1, style=TITLE), *TEXT_LINES]
    assert document_title(given, lines, "a.pdf") == "The Largest Line"


def test_without_either_the_file_name_says_it() -> None:
    """A bold line of the same size is not a title."""
    assert (
        document_title("", [line("Bold", style=BOLD), *TEXT_LINES], "Annual_Report  2022.pdf")
        == "Annual Report 2022"
    )


NAMED = [line("AUTHORITY FOR SHIPS", style=TITLE), line("Ferry Corporation", row=1, style=TITLE)]
PAGES = [
    line(text, page, page) for page in range(2, 6) for text in ("FERRY CORPORATION AND SONS", "It sails.")
]


def test_a_name_that_heads_later_pages_is_the_title() -> None:
    """With the date of the first page; also where the metadata copies another line of that page."""
    first = [*NAMED, line("For the year ended August 29, 2021", row=2)]
    for given in ("", "Authority for Ships", "F-20.docx"):
        assert document_title(given, [*first, *PAGES], "a.pdf") == "Ferry Corporation, August 29, 2021"
    assert document_title("Ferries of Norway", [*first, *PAGES], "a.pdf") == "Ferries of Norway"


def test_what_heads_a_list_of_pages_is_no_title() -> None:
    lines = [line("Contents", style=TITLE), line("Foo 2", row=1), *TEXT_LINES]
    assert document_title("", lines, "Annual_Report.pdf") == "Annual Report"
    assert document_title("annual report", lines[2:], "Annual_Report.pdf") == "Annual Report"


def test_a_name_above_later_pages_is_the_title_where_the_first_shows_a_picture() -> None:
    """If the first page has its first words; with the date at the start of its prose."""
    first = [
        line("Oslo (July 20, 2023) – Ferry & Ferry today told its owners how many ships it has and had then.")
    ]
    heads = [
        line(text, page, row=n)
        for page in (2, 3, 4)
        for n, text in enumerate(["Ferry & Ferry Group", "Sales"])
    ]
    assert document_title("", [*first, *heads], "F_2Q23.pdf") == "Ferry & Ferry Group, July 20, 2023"
    assert document_title("", [*TEXT_LINES, *heads], "F_2Q23.pdf") == "F 2Q23"
