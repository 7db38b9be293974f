"""A PDF of 180 MB: photographs that no compression makes smaller, and pages of text to embed.

usage: python -m bench.volume PATH [MEGABYTES] [PAGES]. Random pixels replace photographs. A real PDF, as
reportlab writes it; a process of its own, because it takes a few hundred megabytes of memory.
"""

import random
import sys
from io import BytesIO
from pathlib import Path
from textwrap import wrap

from PIL import Image
from reportlab import rl_config
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from bench.corpus import text

SIDE = 1_000
"""Pixels: three megabytes an image."""
IMAGE_BYTES = 3 * SIDE * SIDE


def image(canvas: Canvas, chance: random.Random) -> None:
    """A page that is a picture."""
    pixels = Image.frombytes("RGB", (SIDE, SIDE), chance.randbytes(IMAGE_BYTES))
    canvas.drawImage(ImageReader(pixels), 50, 150, 500, 500)
    canvas.showPage()


def page(canvas: Canvas, number: int) -> None:
    """A page of two passages."""
    lines = [line for row in (2 * number, 2 * number + 1) for line in (*wrap(text(-(10**6) - row), 90), "")]
    for at, line in enumerate(lines):
        canvas.drawString(50, 800 - 14 * at, line)
    canvas.showPage()


def write(path: Path, megabytes: int, pages: int) -> None:
    """The whole file."""
    rl_config.useA85 = 0  # binary, not letters: a quarter smaller and far quicker
    chance, out = random.Random(7), BytesIO()
    canvas = Canvas(out, pageCompression=1)
    images = megabytes * 1_000_000 // IMAGE_BYTES
    for number in range(pages):
        for _ in range(images * (number + 1) // pages - images * number // pages):
            image(canvas, chance)
        page(canvas, number)
    canvas.save()
    path.write_bytes(out.getvalue())


if __name__ == "__main__":
    write(Path(sys.argv[1]), *map(int, [*sys.argv[2:], "180", "300"][:2]))
