"""The sample that the page offers on a first visit: `python -m tests.web.sample` writes app/web/sample.pdf.

Our own text about a lighthouse that does not exist, so no model knows the answers. Deterministic.
"""

from io import BytesIO
from pathlib import Path

from reportlab.lib import colors
from reportlab.lib.pagesizes import A5
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    Flowable,
    KeepTogether,
    PageBreak,
    Paragraph,
    SimpleDocTemplate,
    Spacer,
    Table,
    TableStyle,
)

FILE = Path(__file__).parents[2] / "app" / "web" / "sample.pdf"
TITLE = "A Short Guide to the Lighthouse of Skarholm"
NOTE = "Skarholm is an imaginary island. This guide comes with Ibid, as something to try it with."

PAGES: list[list[tuple[str, list[str]]]] = [
    [
        (
            "The island and its light",
            [
                "Skarholm is a low granite island nine kilometres off the coast, at the mouth of the Lannet"
                " estuary. Two currents meet on its western side and have moved the sandbanks there for as long"
                " as charts have been drawn. In the winter of 1851 four ships were lost on them within three"
                " weeks, and the harbour towns agreed to pay for a light together.",
                "The tower was designed by Ellen Marsh and built between 1854 and 1857. It stands 38 metres high,"
                " and 164 steps lead up to the lantern room. The walls are 2.4 metres thick at the base and 60"
                " centimetres at the gallery. The granite was cut on the island itself; the quarry is now the"
                " pond beside the landing stage.",
            ],
        ),
        (
            "How far it is seen",
            [
                "The light stands 52 metres above high water and is visible for 21 nautical miles on a clear"
                " night. It shows two white flashes every 15 seconds. In fog a horn sounds once every half"
                " minute.",
            ],
        ),
    ],
    [
        (
            "From oil to electricity",
            [
                "For its first fifty years the lamp burned rapeseed oil, and the keepers carried about eleven"
                " litres up the stairs every evening. Paraffin replaced the oil in 1906. Electricity came in"
                " 1938, by a cable from the mainland that broke in the first winter and was laid again along a"
                " longer route.",
                "The lens is the oldest part that is still in use. It weighs 2.7 tonnes, floats on a bath of"
                " mercury, and can be turned with one finger.",
            ],
        ),
        (
            "The last keepers",
            [
                "The light was automated in 1984, because no family could be found that would live on the island"
                " through the winter after its school had closed. The last keeper, Jonas Field, had served for"
                " 26 years. He wrote down the weather three times a day, and his 31 notebooks are shown in the"
                " keepers' house.",
            ],
        ),
    ],
    [
        (
            "Visiting",
            [
                "The ferry leaves from Lannet pier and takes 40 minutes. It does not sail when the wind is above"
                " 7 Beaufort; tickets are then valid on any other day of the same year. Dogs may come to the"
                " island, but not into the tower. Children under 1.10 metres are not allowed on the gallery.",
            ],
        ),
    ],
    [
        (
            "Birds and seals",
            [
                "About 900 pairs of terns nest on the northern meadow, which is closed from 15 April to 31 July."
                " Grey seals come to the western rocks to give birth in November. Please keep a distance of 50"
                " metres from them: a mother that is disturbed may leave her pup.",
            ],
        ),
        (
            "Looking after the tower",
            [
                "The trust that keeps the tower has 640 members and no paid staff. Salt is the main trouble: it"
                " enters the joints, and frost opens them. The whole tower was pointed with lime mortar in 2011,"
                " which took 14 months and cost 410,000 crowns. The next time is planned for 2036.",
            ],
        ),
    ],
]
PRICES = [
    ["Ticket", "April and May", "June to August", "September"],
    ["Family of four", "34 crowns", "45 crowns", "34 crowns"],
    ["Adult", "14 crowns", "18 crowns", "14 crowns"],
    ["Child (4 to 15)", "6 crowns", "8 crowns", "6 crowns"],
    ["Last ferry back", "16:30", "19:00", "17:15"],
]
TABLE_ON = 2
"""The place of the page with the table."""

BODY = ParagraphStyle("body", fontName="Times-Roman", fontSize=11, leading=15, spaceAfter=7)
HEAD = ParagraphStyle("head", fontName="Helvetica-Bold", fontSize=12, leading=16, spaceBefore=8, spaceAfter=4)
TOP = ParagraphStyle("top", fontName="Times-BoldItalic", fontSize=20, leading=25, spaceAfter=6)
SMALL = ParagraphStyle("small", fontName="Times-Italic", fontSize=9, leading=12, spaceAfter=10)


def prices() -> Flowable:
    table = Table(PRICES, colWidths=[100, 82, 88, 70], hAlign="LEFT")
    table.setStyle(
        TableStyle(
            [
                ("FONT", (0, 0), (-1, 0), "Helvetica-Bold", 9),
                ("FONT", (0, 1), (-1, -1), "Times-Roman", 10),
                ("LINEBELOW", (0, 0), (-1, -1), 0.4, colors.grey),
            ]
        )
    )
    return KeepTogether([Paragraph("Tickets and ferries, with the crossing", HEAD), table, Spacer(1, 10)])


def footer(canvas: Canvas, document: SimpleDocTemplate) -> None:
    canvas.setFont("Times-Roman", 9)
    canvas.drawCentredString(A5[0] / 2, 28, str(document.page))


def made() -> bytes:
    """The PDF."""
    out = BytesIO()
    document = SimpleDocTemplate(
        out,
        pagesize=A5,
        margins=48,
        title=TITLE,
        author="The authors of Ibid",
        invariant=1,
        pageCompression=1,
    )
    story: list[Flowable] = [Paragraph(TITLE, TOP), Paragraph(NOTE, SMALL)]
    for number, sections in enumerate(PAGES):
        story += [PageBreak()] if number else []
        for head, paragraphs in sections:
            story += [Paragraph(head, HEAD), *(Paragraph(text, BODY) for text in paragraphs)]
        story += [prices()] if number == TABLE_ON else []
    document.build(story, onFirstPage=footer, onLaterPages=footer)
    return out.getvalue()


if __name__ == "__main__":
    FILE.write_bytes(made())
