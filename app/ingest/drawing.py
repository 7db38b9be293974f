"""The process that shows the pages of one PDF: a page as WebP, and where on its pages a passage is
(`places.py`). Its client is `viewer.py`.

It limits itself and drops privileges (`child.confine`) before it looks at the file, which stays open, so
that each page costs its drawing alone.
"""

import io
import json
import math
import os
from contextlib import closing
from functools import partial

import pypdfium2 as pdfium
from PIL import Image

from app.child import Call, confine, connected
from app.ingest.places import boxes, fold

WIDTH = 1_040
"""Pixels across a page if no scale is asked for: a panel of 520 px on a screen with two pixels for each."""
MAX_PIXELS, MAX_SIDE = 8_000_000, 8_000
"""Pixels of an image and of each side: a larger page is drawn smaller, whatever the scale."""
QUALITY, METHOD = 80, 2
"""Of WebP. Method 4 takes twice the time for 5 % less."""


def main() -> None:
    parent, _ = connected()
    encode(Image.new("RGB", (1, 1)))  # loads the codec, which may be unreadable after the change of user
    fold("e\u0301")
    parent.ready()
    viewer = Viewer()
    parent.serve(partial(viewer.answer, parent.pid))


class NoSuchPage(Exception):
    """The file has fewer pages."""


class Viewer:
    """The open file. `open` (file, memory_mb, seconds) must be the first call."""

    def __init__(self) -> None:
        self._pdf: pdfium.PdfDocument | None = None

    def answer(self, parent: int, call: Call) -> None:
        try:
            if call.name == "open":
                confine(parent, call.payload["memory_mb"], call.payload["seconds"])
                self._pdf = pdfium.PdfDocument(os.fdopen(call.payload["file"], "rb"))
                call.reply({"pages": len(self._pdf)})
            elif call.name == "draw":
                call.reply(data=drawn(self._page_of(call.payload["page"]), call.payload["scale"]))
            else:
                asked = call.payload
                found = boxes(self._opened(), asked["first"], asked["last"], asked["text"], asked["quote"])
                call.reply(data=json.dumps(found._asdict()).encode())
        except pdfium.PdfiumError:
            call.fail({"fault": "pdf-damaged", "detail": "The page cannot be read"})
        except MemoryError:
            call.fail({"fault": "pdf-too-complex", "detail": "The page takes more memory than a worker has"})
        except NoSuchPage:
            call.fail({"fault": "not-found", "detail": "there is no such page"})

    def _opened(self) -> pdfium.PdfDocument:
        if self._pdf is None:
            raise pdfium.PdfiumError("no file is open")
        return self._pdf

    def _page_of(self, number: int) -> pdfium.PdfPage:
        pdf = self._opened()
        if not 1 <= number <= len(pdf):
            raise NoSuchPage
        return pdf[number - 1]


def drawn(page: pdfium.PdfPage, scale: float | None) -> bytes:
    """The page as WebP; `scale` in pixels per point, None: WIDTH pixels across."""
    with closing(page), closing(page.render(scale=fitting(page, scale))) as bitmap:
        return encode(bitmap.to_pil().convert("RGB"))


def fitting(page: pdfium.PdfPage, scale: float | None) -> float:
    """The scale, or less where the image would become too large."""
    width, height = (max(float(side), 0.1) for side in page.get_size())
    asked = scale or WIDTH / width
    return min(asked, math.sqrt(MAX_PIXELS / (width * height)), MAX_SIDE / max(width, height))


def encode(image: Image.Image) -> bytes:
    out = io.BytesIO()
    image.save(out, "WEBP", quality=QUALITY, method=METHOD)
    return out.getvalue()


if __name__ == "__main__":
    main()
