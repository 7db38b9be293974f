"""PDFs with forms, annotations and fonts whose letters nobody can read, made to order."""

from collections.abc import Sequence
from io import BytesIO

from reportlab.pdfgen.canvas import Canvas

from tests.fakes.pdfs import BODY, HEIGHT, WIDTH, assemble, stream

HELVETICA = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"


def form_pdf() -> bytes:
    """A form as an office program writes it, filled in."""
    out = BytesIO()
    canvas = Canvas(out, pagesize=(WIDTH, HEIGHT), invariant=1)
    canvas.setFont(*BODY)
    form = canvas.acroForm
    canvas.drawString(72, 700, "Application for a berth")
    canvas.drawString(72, 660, "Ship")
    form.textfield(name="ship", value="Aurora Borealis", x=200, y=655, width=200, height=18)
    canvas.drawString(72, 620, "Harbour")
    choices = [("Tromso", "TOS"), ("Bodo", "BOO")]
    form.choice(name="harbour", value="TOS", options=choices, x=200, y=615, width=200, height=18)
    canvas.drawString(72, 580, "Dangerous goods")
    form.checkbox(name="dangerous", checked=True, x=200, y=575)
    canvas.drawString(72, 540, "Passengers")
    form.checkbox(name="passengers", checked=False, x=200, y=535)
    canvas.drawString(72, 500, "Draught")
    form.radio(name="draught", value="deep", selected=True, x=200, y=495)
    form.radio(name="draught", value="shallow", selected=False, x=240, y=495)
    canvas.drawString(72, 460, "The harbour master decides within a week.")
    canvas.save()
    return out.getvalue()


def field(rect: str, entries: str) -> bytes:
    """A field and its widget in one."""
    return f"<< /Type /Annot /Subtype /Widget /Rect [{rect}] {entries} >>".encode()


def annotated_pdf(
    annotations: Sequence[bytes], *, text: str = "Report of the year", catalog: bytes = b""
) -> bytes:
    """A page with a line of text at the top, and these annotations; those with a name are the form's fields.
    Objects 1 to 5 are the catalog, the tree, the page, its content and the font."""
    references = [b"%d 0 R" % (6 + n) for n in range(len(annotations))]
    fields = [one for one, each in zip(references, annotations, strict=True) if b"/FT" in each]
    root = b"<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [%s] /DA (/Helv 10 Tf 0 g) %s >> >>" % (
        b" ".join(fields),
        catalog,
    )
    page = (
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F 5 0 R >> >> /Annots [%s] >>" % b" ".join(references)
    )
    content = stream(f"BT /F 10 Tf 72 720 Td ({text}) Tj ET".encode())
    tree = b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
    return assemble([root, tree, page, content, HELVETICA, *annotations])


def glyph_pdf(pages: Sequence[str], shift: int = -29) -> bytes:
    """Pages in a font without a character map: what is shown is known by the numbers of glyphs alone, and
    these are those of the letters, moved as in most TrueType fonts. A page that begins with `=` is in
    another font, which can be read."""
    entries: list[bytes] = []
    for number, text in enumerate(pages):
        lines = text.removeprefix("=").split("\n")
        if text.startswith("="):
            drawn = " ".join(f"({line}) Tj T*" for line in lines)
            content = f"BT /F 10 Tf 13 TL 72 720 Td {drawn} ET"
        else:
            codes = ["".join(f"{ord(char) + shift:04X}" for char in line) for line in lines]
            drawn = " ".join(f"<{code}> Tj T*" for code in codes)
            content = f"BT /G 10 Tf 13 TL 72 720 Td {drawn} ET"
        kid = (
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
            b"/Resources << /Font << /F 3 0 R /G 4 0 R >> >> >>" % (7 + 2 * number)
        )
        entries += [kid, stream(content.encode())]
    kids = b" ".join(b"%d 0 R" % (6 + 2 * n) for n in range(len(pages)))
    font = b"<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H /DescendantFonts [5 0 R] >>"
    child = (
        b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /X /DW 600 /CIDToGIDMap /Identity "
        b"/CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> "
        b"/FontDescriptor << /Type /FontDescriptor /FontName /X /Flags 4 /FontBBox [0 -200 1000 900] "
        b"/ItalicAngle 0 /Ascent 900 /Descent -200 /CapHeight 700 /StemV 80 >> >>"
    )
    tree = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(pages))
    return assemble([b"<< /Type /Catalog /Pages 2 0 R >>", tree, HELVETICA, font, child, *entries])
