"""Pages whose text cannot be read are known by it, and no others."""

import random
from io import BytesIO

import pytest

from app.db.documents import Parsed
from app.errors import PdfUnreadable
from app.intake.noise import is_noise
from app.intake.worker import parse
from tests.fakes.forms import glyph_pdf
from tests.fakes.pdfs import script_pdf

PROSE = (
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


def read(pdf: bytes) -> Parsed:
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
    assert not is_noise(text, lambda: 0)


@pytest.mark.parametrize("kind", ["chinese", "arabic", "hindi", "cherokee", "two languages"])
def test_a_pdf_in_any_script_is_taken(kind: str) -> None:
    """Its fonts map their glyphs."""
    assert read(script_pdf([READABLE[kind]])).chunks


def test_glyphs_without_a_map_are_refused() -> None:
    """What PDFium makes of them is no text: `7KH KDUERXU` for "The harbour"."""
    with pytest.raises(PdfUnreadable, match="2 pages with text"):
        read(glyph_pdf([PROSE, PROSE]))


def test_glyphs_that_are_numbered_as_their_letters_are_taken() -> None:
    """As old programs did: there is no map, and none is needed."""
    assert "ferry leaves the pier" in read(glyph_pdf([PROSE], shift=0)).chunks[0].text


def test_pages_that_can_be_read_are_kept() -> None:
    """The others are passed over."""
    parsed = read(glyph_pdf([PROSE, f"={PROSE}", PROSE]))

    assert parsed.pages == 3
    assert {(chunk.page, chunk.page_end) for chunk in parsed.chunks} == {(2, 2)}
    assert "ferry leaves the pier" in parsed.chunks[0].text
    assert not any("KDUERXU" in chunk.text for chunk in parsed.chunks)


def test_a_page_of_which_the_most_can_be_read_is_kept() -> None:
    """A few glyphs without a map stand among letters that have one."""
    text = " يبيبَح\u02f4 ϲΒϴΒhabibi يبيبَح"
    assert not is_noise(text, lambda: 6)
    assert is_noise(text, lambda: 20)


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
    for text in (moved(PROSE, 1), moved(PROSE, 3), PROSE.lower().translate(replaced)):
        with pytest.raises(PdfUnreadable):
            read(script_pdf([f"{text}\n{text}"]))
