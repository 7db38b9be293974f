"""What the page shows of a document: its pages as images, where a passage is on them, parts of the file, and
how far the reading is."""

import io
import json
import re
from collections.abc import Sequence
from typing import Any

import pytest
from PIL import Image
from reportlab.pdfgen.canvas import Canvas

from tests.fakes.pdfs import assemble, bomb_pdf, table_pdf, text_pdf
from tests.fakes.process import Service

SENTENCE = "The lighthouse keeper counts nine ships."
OTHERS = "Her log is bound in green cloth. Every evening she writes down the weather and the tide."


def added(house: Service, name: str, content: bytes) -> dict[str, Any]:
    response = house.upload(f"{name}.pdf", content, session_id=f"pages-{name}")
    assert response.status_code == 201, response.text
    document: dict[str, Any] = response.json()
    return document


def size_of(data: bytes) -> tuple[int, int]:
    with Image.open(io.BytesIO(data)) as image:
        assert image.format == "WEBP"
        return image.size


def chunk(house: Service, document: dict[str, Any], n: int = 1, **query: str) -> dict[str, Any]:
    response = house.client.get(f"/api/documents/{document['id']}/chunks/{n}", params={"boxes": "1", **query})
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def darkness(house: Service, document: dict[str, Any], page: int, rect: Sequence[float]) -> tuple[int, int]:
    """Dark pixels within a rectangle, and on the whole page."""
    data = house.client.get(f"/api/documents/{document['id']}/pages/{page}.webp").content
    with Image.open(io.BytesIO(data)) as image:
        grey = image.convert("L")
    across, down = grey.size
    left, top, right, bottom = rect
    inside = grey.crop((int(left * across), int(top * down), int(right * across) + 1, int(bottom * down) + 1))
    return sum(inside.histogram()[:128]), sum(grey.histogram()[:128])


def test_a_page_is_an_image_that_is_drawn_once(house: Service) -> None:
    """A browser keeps it, and asks each time whether it may show it."""
    document = added(house, "image", text_pdf([SENTENCE, OTHERS]))
    address = f"/api/documents/{document['id']}/pages/2.webp"
    shown = house.client.get(address)

    assert shown.headers["content-type"] == "image/webp"
    assert shown.headers["cache-control"] == "private, no-cache"
    assert size_of(shown.content)[0] == 1_040
    assert size_of(house.client.get(address, params={"scale": "0.5"}).content) == (306, 396)
    again = house.client.get(address, headers={"If-None-Match": f'"other", {shown.headers["etag"]}'})
    assert (again.status_code, again.content) == (304, b"")
    other = house.client.get(address, params={"scale": "2"})
    assert other.headers["etag"] != shown.headers["etag"]
    head = house.client.head(address)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["etag"] == shown.headers["etag"]
    house.client.delete(f"/api/documents/{document['id']}")
    gone = house.client.get(address, headers={"If-None-Match": shown.headers["etag"]})
    assert gone.status_code == 404


@pytest.mark.parametrize(
    ("page", "query", "status"),
    [("3", "", 404), ("0", "", 422), ("x", "", 422), ("1", "scale=0.4", 422), ("1", "scale=nan", 422)],
)
def test_a_page_or_scale_that_cannot_be(house: Service, page: str, query: str, status: int) -> None:
    document = uploaded(house)
    response = house.client.get(f"/api/documents/{document['id']}/pages/{page}.webp?{query}")
    assert response.status_code == status


def uploaded(house: Service) -> dict[str, Any]:
    """Two pages; the same document each time."""
    response = house.upload("two.pdf", text_pdf([SENTENCE, OTHERS]), session_id="pages-two")
    document: dict[str, Any] = response.json()
    return document


def test_a_huge_page_is_drawn_smaller(house: Service) -> None:
    """200 by 200 inches at the largest scale would be 1.8 billion pixels."""
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=(14_400, 14_400), invariant=1)
    canvas.setFont("Helvetica", 200)
    canvas.drawString(1_000, 7_000, SENTENCE)
    canvas.save()
    document = added(house, "huge", out.getvalue())

    shown = house.client.get(f"/api/documents/{document['id']}/pages/1.webp?scale=3")

    across, down = size_of(shown.content)
    assert across == down
    assert 2_000 < across <= 2_829


def test_boxes_are_where_the_words_are(house: Service) -> None:
    """A rectangle a line, around all that is dark on the page; the quotation's within."""
    document = added(house, "boxes", text_pdf(f"{SENTENCE} {OTHERS}"))
    found = chunk(house, document, quote=SENTENCE)

    (box,), (quoted,) = found["boxes"], found["quote_boxes"]
    assert (box["page"], box["label"]) == (1, None)
    assert len(box["rects"]) == 2
    inside = [darkness(house, document, 1, rect) for rect in box["rects"]]
    assert sum(dark for dark, _ in inside) >= 0.99 * inside[0][1]
    ((left, top, right, bottom),) = quoted["rects"]
    assert box["rects"][0][0] == left
    assert box["rects"][0][1] <= top < bottom <= box["rects"][0][3]
    assert right < 0.75 * box["rects"][0][2]


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_boxes_on_a_cropped_and_turned_page(house: Service, rotation: int) -> None:
    """Fractions of what is shown."""
    text = f"BT /F1 12 Tf 150 400 Td ({SENTENCE}) Tj 0 -20 Td ({OTHERS[:45]}) Tj ET".encode()
    page = (
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /CropBox [100 300 500 500] /Rotate %d"
        b" /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>" % rotation
    )
    content = assemble(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            page,
            b"<< /Length %d >>\nstream\n%s\nendstream" % (len(text), text),
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        ]
    )
    document = added(house, f"turned-{rotation}", content)
    (box,) = chunk(house, document)["boxes"]

    inside = [darkness(house, document, 1, rect) for rect in box["rects"]]
    assert len(inside) == 2
    assert sum(dark for dark, _ in inside) >= 0.98 * inside[0][1]


def test_a_passage_over_two_pages_has_boxes_on_both(house: Service) -> None:
    """Not of the running head between them."""
    lines = [f"Entry {n}: {SENTENCE} The wind came from quarter {n}." for n in range(60)]
    pages = [
        "\n".join(lines[:30]) + "\nThe log goes on",
        "\n".join(["overleaf without a break.", *lines[30:]]),
    ]
    document = added(house, "two-pages", text_pdf(pages, header="Log of the lighthouse, page {page}"))
    chunks = [chunk(house, document, n + 1) for n in range(document["chunks"])]

    over = [each for each in chunks if (each["page"], each["page_end"]) == (1, 2)]
    assert over
    for each in over:
        assert [box["page"] for box in each["boxes"]] == [1, 2]
    for each in chunks:
        for box in each["boxes"]:
            assert all(rect[1] > 0.07 for rect in box["rects"])  # the head's base line is at 40 of 792 points


def test_a_table_has_boxes(house: Service) -> None:
    """Its passage has bars and rules that are not on the page."""
    rows = [["", "2023", "2022"], *([f"Harbour {n}", f"{n},{n}00", f"{n},{n}50"] for n in range(1, 9))]
    document = added(house, "table", table_pdf("Ships by harbour", rows))
    (box,) = chunk(house, document)["boxes"]

    assert len(box["rects"]) == len(rows) + 1


def test_what_is_not_on_the_page_has_no_box(house: Service) -> None:
    document = uploaded(house)
    found = chunk(house, document, quote="Nobody wrote these words into that log, not even once.")

    assert found["boxes"]
    assert found["quote_boxes"] == []
    plain = house.client.get(f"/api/documents/{document['id']}/chunks/1").json()
    assert not {"boxes", "quote_boxes"} & set(plain)


CONTENT = text_pdf([f"{SENTENCE} {OTHERS}"] * 3)


@pytest.mark.parametrize(
    ("asked", "status", "span"),
    [
        ("bytes=0-9", 206, (0, 10)),
        ("bytes=10-", 206, (10, len(CONTENT))),
        ("bytes=-7", 206, (len(CONTENT) - 7, len(CONTENT))),
        (f"bytes=5-{len(CONTENT) + 50}", 206, (5, len(CONTENT))),
        ("bytes=0-1,5-6", 200, (0, len(CONTENT))),
        ("bytes=9-2", 200, (0, len(CONTENT))),
        ("lines=0-1", 200, (0, len(CONTENT))),
        (f"bytes={len(CONTENT)}-", 416, None),
        ("bytes=-0", 416, None),
    ],
)
def test_parts_of_the_file(house: Service, asked: str, status: int, span: tuple[int, int] | None) -> None:
    document = house.upload("parts.pdf", CONTENT, session_id="pages-parts").json()
    response = house.client.get(f"/api/documents/{document['id']}/file", headers={"Range": asked})

    assert response.status_code == status
    if span is None:
        assert response.headers["content-range"] == f"bytes */{len(CONTENT)}"
        assert response.json()["type"] == "urn:ibid:problem:range-not-satisfiable"
        return
    start, end = span
    assert response.content == CONTENT[start:end]
    assert response.headers["content-length"] == str(end - start)
    if status == 206:
        assert response.headers["content-range"] == f"bytes {start}-{end - 1}/{len(CONTENT)}"


def test_a_file_over_several_pieces_and_its_tag(house: Service) -> None:
    """The store keeps pieces of 1 MiB."""
    content = text_pdf(SENTENCE).replace(b"%%EOF", b"%%EOF\n%" + b"x" * (5 << 19) + b"\n")
    document = added(house, "large", content)
    address = f"/api/documents/{document['id']}/file"

    whole = house.client.get(address)
    assert whole.content == content
    assert document["size"] == len(content) == int(whole.headers["content-length"])
    assert whole.headers["accept-ranges"] == "bytes"
    tag = whole.headers["etag"]
    middle = house.client.get(address, headers={"Range": "bytes=1048570-2097160", "If-Range": tag})
    assert middle.content == content[1048570:2097161]
    assert house.client.get(address, headers={"Range": "bytes=0-1", "If-Range": '"x"'}).content == content
    assert house.client.get(address, headers={"If-None-Match": tag}).status_code == 304
    head = house.client.head(address, headers={"Range": "bytes=0-9"})
    assert (head.status_code, head.headers["content-length"], head.content) == (206, "10", b"")


def test_the_events_of_a_document_end_when_it_is_ready(house: Service) -> None:
    pages = [f"{n}. {SENTENCE} {OTHERS}" for n in range(40)]
    sent = house.upload("slow.pdf", text_pdf(pages), session_id="pages-events", wait="0")
    document = sent.json()
    assert (sent.status_code, document["state"], set(document["progress"])) == (
        202,
        "processing",
        {"stage", "done", "of"},
    )
    told = events(house.client.get(f"/api/documents/{document['id']}/events").text)

    assert {name for name, _ in told[:-1]} <= {"progress"}
    name, last = told[-1]
    assert (name, last["state"], last["pages"]) == ("ready", "ready", 40)
    assert "progress" not in last
    address = f"/api/documents/{document['id']}/events"
    text = house.client.get(address).text
    assert events(text) == [(name, last)]
    last_id = text.partition("\n")[0].removeprefix("id: ")
    assert house.client.get(address, headers={"Last-Event-ID": last_id}).status_code == 204
    assert house.client.get(address, headers={"Last-Event-ID": f"{last_id}x"}).text == text
    house.client.delete(f"/api/documents/{document['id']}")
    assert house.client.get(address, headers={"Last-Event-ID": last_id}).status_code == 404


def test_a_failed_document_ends_its_events(house: Service) -> None:
    sent = house.upload("bomb.pdf", bomb_pdf(), session_id="pages-failed", wait="0").json()
    name, last = events(house.client.get(f"/api/documents/{sent['id']}/events").text)[-1]

    assert (name, last["state"]) == ("failed", "failed")
    assert last["problem"]["type"].startswith("urn:ibid:problem:pdf-")
    assert house.client.get("/api/documents/none/events").status_code == 404


def events(text: str) -> list[tuple[str, dict[str, Any]]]:
    parts = re.findall(r"^event: (\w+)\ndata: (.*)$", text, re.MULTILINE)
    return [(name, json.loads(data)) for name, data in parts]
