"""PDFs made to order, good and hostile, with forms, annotations and fonts that nobody can read. All are
deterministic: the same arguments give the same bytes."""

import random
import re
import zlib
from collections.abc import Sequence
from io import BytesIO

from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.lib.utils import simpleSplit
from reportlab.pdfgen.canvas import Canvas

WIDTH, HEIGHT, MARGIN = 612, 792, 72
BODY, BOLD, LEADING = ("Helvetica", 10), "Helvetica-Bold", 13

RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff]")

Bookmark = tuple[str, int, int]
"""Title, page from 1, level from 0."""


def text_pdf(
    pages: Sequence[str] | str,
    *,
    title: str = "",
    outline: Sequence[Bookmark] = (),
    header: str = "",
    footer: str = "",
) -> bytes:
    """A PDF with these pages. `header` and `footer` stand on each; `{page}` is its number."""
    texts = [pages] if isinstance(pages, str) else list(pages)
    if not all(latin(text) for text in (*texts, title, header, footer)):
        return script_pdf(texts)
    out = BytesIO()
    canvas = Canvas(out, pagesize=(WIDTH, HEIGHT), invariant=1)
    canvas.setTitle(title)
    for number, text in enumerate(texts, 1):
        bookmark(canvas, outline, number)
        draw(canvas, text, header.format(page=number), footer.format(page=number))
    canvas.save()
    return out.getvalue()


def latin(text: str) -> bool:
    """True if the standard fonts can show it."""
    return text.encode("cp1252", "ignore").decode("cp1252") == text


def bookmark(canvas: Canvas, outline: Sequence[Bookmark], page: int) -> None:
    for n, (name, on, level) in enumerate(outline):
        if on == page:
            canvas.bookmarkPage(f"b{n}")
            canvas.addOutlineEntry(name, f"b{n}", level=level)


def draw(canvas: Canvas, text: str, header: str, footer: str) -> None:
    """One page, as tall as its text needs."""
    lines = [line for written in text.split("\n") for line in styled(written)]
    height = max(HEIGHT, 2 * MARGIN + LEADING * (len(lines) + 2))
    canvas.setPageSize((WIDTH, height))
    canvas.setFont(*BODY)
    canvas.drawString(MARGIN, height - 40, header)
    canvas.drawString(MARGIN, 40, footer)
    y: float = height - MARGIN
    for font, size, line in lines:
        canvas.setFont(font, size)
        canvas.drawString(MARGIN, y, line)
        y -= LEADING if size <= 10 else 1.5 * size
    canvas.showPage()


def styled(line: str) -> list[tuple[str, int, str]]:
    """(font, size, text) of the lines that one line of the page's text becomes."""
    for mark, size in (("# ", 16), ("## ", 13)):
        if line.startswith(mark):
            return [(BOLD, size, line.removeprefix(mark))]
    return [(*BODY, part) for part in simpleSplit(line, *BODY, WIDTH - 2 * MARGIN) or [""]]


def table_pdf(caption: str, rows: Sequence[Sequence[str]], *, before: str = "", after: str = "") -> bytes:
    """One page: text, a caption, a table (first column left, the others right-aligned), text."""
    out = BytesIO()
    canvas = Canvas(out, pagesize=(WIDTH, 2 * MARGIN + LEADING * (len(rows) + 60)), invariant=1)
    y = 2 * MARGIN + LEADING * (len(rows) + 60) - MARGIN
    canvas.setFont(*BODY)
    for line in [*simpleSplit(before, *BODY, WIDTH - 2 * MARGIN), "", caption, ""]:
        canvas.drawString(MARGIN, y, line)
        y -= LEADING
    for row in rows:
        canvas.drawString(MARGIN, y, row[0])
        for column, cell in enumerate(row[1:]):
            canvas.drawRightString(340 + 80 * column, y, cell)
        y -= LEADING
    for line in ["", *simpleSplit(after, *BODY, WIDTH - 2 * MARGIN)]:
        canvas.drawString(MARGIN, y, line)
        y -= LEADING
    canvas.save()
    return out.getvalue()


def encrypted_pdf(
    text: str = "Nobody may read this.", *, user: str = "secret", owner: str = "owner"
) -> bytes:
    """Opens with the user password; "" opens for everyone, with an owner password against changes."""
    out = BytesIO()
    lock = StandardEncryption(user, owner, strength=128)
    canvas = Canvas(out, pagesize=(WIDTH, HEIGHT), invariant=1, encrypt=lock)
    draw(canvas, text, "", "")
    canvas.save()
    return out.getvalue()


def assemble(objects: Sequence[bytes]) -> bytes:
    """A PDF of these objects, numbered from 1; the first is the catalog."""
    body, offsets = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"), []
    for number, content in enumerate(objects, 1):
        offsets.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    trailer = b"trailer\n<< /Size %d /Root 1 0 R >>\n" % (len(objects) + 1)
    return bytes(body) + head + table + trailer + b"startxref\n%d\n%%%%EOF\n" % len(body)


def stream(data: bytes, entries: bytes = b"") -> bytes:
    return b"<< %s /Length %d >>\nstream\n%s\nendstream" % (entries, len(data), data)


def leaves(contents: Sequence[bytes], resources: bytes, shared: Sequence[bytes]) -> bytes:
    """A PDF with one page for each content stream; `shared` objects are numbered from 3."""
    first = 3 + len(shared)
    kids = b" ".join(b"%d 0 R" % (first + 2 * n) for n in range(len(contents)))
    pages: list[bytes] = []
    for n, content in enumerate(contents):
        box = b"/MediaBox [0 0 612 792] /Resources << %s >>" % resources
        pages += [b"<< /Type /Page /Parent 2 0 R %s /Contents %d 0 R >>" % (box, first + 2 * n + 1), content]
    root = b"<< /Type /Catalog /Pages 2 0 R >>"
    tree = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(contents))
    return assemble([root, tree, *shared, *pages])


def script_pdf(pages: Sequence[str]) -> bytes:
    """Pages in any script: a font without glyphs whose character map gives each code its meaning."""
    glyphs = {char: code for code, char in enumerate(sorted(set("".join(pages)) - {"\n"}), 1)}
    entries = [f"<{code:04X}> <{char.encode('utf-16-be').hex()}>" for char, code in glyphs.items()]
    blocks = [entries[n : n + 100] for n in range(0, len(entries), 100)]
    mapped = "\n".join(f"{len(block)} beginbfchar\n{chr(10).join(block)}\nendbfchar" for block in blocks)
    cmap = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def /CMapType 2 def\n"
        f"1 begincodespacerange <0000> <FFFF> endcodespacerange\n{mapped}\nendcmap end end"
    )
    font = (
        b"<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H "
        b"/DescendantFonts [4 0 R] /ToUnicode 5 0 R >>"
    )
    child = (
        b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /X /DW 600 "
        b"/CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> "
        b"/FontDescriptor << /Type /FontDescriptor /FontName /X /Flags 4 /FontBBox [0 -200 1000 900] "
        b"/ItalicAngle 0 /Ascent 900 /Descent -200 /CapHeight 700 /StemV 80 >> >>"
    )
    contents = [stream(shown(text, glyphs)) for text in pages]
    return leaves(contents, b"/Font << /F 3 0 R >>", [font, child, stream(cmap.encode())])


def shown(text: str, glyphs: dict[str, int]) -> bytes:
    """The content stream that shows a page's lines, cut at 80 characters."""
    # A PDF places glyphs where they are seen: a line from right to left is drawn from its end.
    text = "\n".join(line[::-1] if RIGHT_TO_LEFT.search(line) else line for line in text.split("\n"))
    lines = [line[n : n + 80] for line in text.split("\n") for n in range(0, max(len(line), 1), 80)]
    drawn = [f"<{''.join(f'{glyphs[char]:04X}' for char in line)}> Tj T*" for line in lines]
    return f"BT /F 10 Tf 13 TL 72 720 Td {' '.join(drawn)} ET".encode()


def image_pdf(pages: int = 1) -> bytes:
    """Scans: pages with a picture and no text."""
    entries = b"/Subtype /Image /Width 8 /Height 8 /ColorSpace /DeviceGray /BitsPerComponent 8"
    grey = stream(bytes(range(64)), b"/Type /XObject " + entries)
    return leaves([stream(b"q 400 0 0 400 100 200 cm /I Do Q")] * pages, b"/XObject << /I 3 0 R >>", [grey])


def empty_pdf(pages: int = 1) -> bytes:
    """Pages with nothing on them. Cheap: for documents of very many pages."""
    return leaves([stream(b"")] * pages, b"", [])


def damaged_pdf(kind: str = "garbage") -> bytes:
    """A PDF by its first bytes, and nothing that can be read: `garbage`, `truncated` or `treeless`."""
    if kind == "truncated":
        return text_pdf("The end of this file was lost.")[:300]
    if kind == "treeless":
        return assemble([b"<< /Type /Catalog /Pages 99 0 R >>"])
    return b"%PDF-1.7\n" + random.Random(1).randbytes(4_096)  # noqa: S311 - noise, not a secret


def bomb_pdf(kind: str = "forms") -> bytes:
    """Small on disk, endless in work: `forms` (each form draws the next ten times, ten deep) or `stream`
    (1 MB that inflates to 280 MB of drawing)."""
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    if kind == "stream":
        packer = zlib.compressobj(9)
        line = b"BT /F 10 Tf 72 720 Td (bomb) Tj ET\n" * 26_000
        data = b"".join(packer.compress(line) for _ in range(300)) + packer.flush()
        return leaves([stream(data, b"/Filter /FlateDecode")], b"/Font << /F 3 0 R >>", [font])
    entry = b"/Type /XObject /Subtype /Form /BBox [0 0 612 792] /Resources << /Font << /F 3 0 R >> %s >>"
    forms = [stream(b"/X Do\n" * 10, entry % (b"/XObject << /X %d 0 R >>" % (n + 5))) for n in range(10)]
    last = stream(b"BT /F 10 Tf 72 720 Td (bomb) Tj ET", entry % b"")
    return leaves([stream(b"/X Do")], b"/XObject << /X 4 0 R >>", [font, *forms, last])


HELVETICA = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"


def letters_pdf(text: str, *, twice: str = "") -> bytes:
    """A line in tight slanted type whose letters are drawn one by one, spaces not at all. The letters of the
    word `twice` are drawn again a little to the right, as some programs do to make them look bolder."""
    out = BytesIO()
    canvas = Canvas(out, pagesize=(WIDTH, HEIGHT), invariant=1)
    canvas.setFont("Times-BoldItalic", 10)
    left = float(MARGIN)
    for word in text.split():
        for char in word:
            for moved in (0.0, 0.2) if word == twice else (0.0,):
                canvas.drawString(left + moved, 700, char)
            left += 0.83 * canvas.stringWidth(char)
        left += canvas.stringWidth(" ")
    canvas.save()
    return out.getvalue()


def ledger_pdf(rows: Sequence[tuple[str, str]]) -> bytes:
    """A page of names on the left and figures on the right, tightly set and drawn letter by letter: PDFium
    takes it to be written downwards."""
    out = BytesIO()
    canvas = Canvas(out, pagesize=(WIDTH, HEIGHT), invariant=1)
    for n, row in enumerate(rows):
        for left, text in zip((50.0, 520.0), row, strict=True):
            for char in text:
                canvas.setFont(*BODY)
                canvas.drawString(left, 760 - 0.9 * BODY[1] * n, char)
                left += canvas.stringWidth(char)  # noqa: PLW2901 - the next letter's
    canvas.save()
    return out.getvalue()


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
