"""Shapes of secrets in hostile texts: the time is that of the text, since nothing else runs meanwhile.

Texts are made of what the shapes themselves are written of, so that a new shape is asked as well.
"""

import re
import time
from collections.abc import Callable

import pytest

from app.domain.secret import SHAPES, Shape, covered, is_secret, keepable, masked

PARTS = (
    "a",
    "A",
    "1",
    "-",
    "_",
    ".",
    "/",
    ":",
    "=",
    " ",
    "\n",
    "'",
    '"',
    "='",
    ":a@",
    "-a-",
    ".a",
    " = ",
    "a1A_",
)
FLOOR = 0.005
"""Seconds below which a clock says nothing."""


def hostile(shape: Shape) -> list[str]:
    """Its sign and its words, again and again: alone, one after another, and with what may stand between."""
    source = re.sub(r"\(\?[a-z]+:|\\[a-zA-Z]|\(\?P[<=]\w+[>)]|[{][\d,]+[}]", " ", shape.pattern.pattern)
    words = {word.replace("\\", "") for word in re.findall(r"[A-Za-z_:/@.\\-]{2,}", source)}
    signs = [
        shape.sign,
        shape.sign + "key=",
        "secret_access_key=",
        "-----BEGIN PRIVATE KEY-----",
        *sorted(words)[:8],
    ]
    return list(
        dict.fromkeys(
            [
                *signs,
                *(f"{part}{shape.sign}" for part in PARTS),
                *(f"{shape.sign}{part}" for part in PARTS),
                "".join(signs),
            ]
        )
    )


def seconds(work: Callable[[str], object], piece: str, size: int) -> float:
    """Of the processor, for a text of a size."""
    text = (piece * (size // len(piece) + 1))[:size]
    began = time.process_time()
    work(text)
    return time.process_time() - began


def linear(work: Callable[[str], object], pieces: list[str]) -> list[str]:
    """The pieces of which eight times as much takes over sixteen times as long, thrice."""

    def slow(piece: str) -> bool:
        short = seconds(work, piece, 8 << 10)
        return seconds(work, piece, 64 << 10) > max(16 * short, FLOOR)

    return [piece for piece in pieces if all(slow(piece) for _ in range(3))]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"{shape.kind}, {shape.sign}")
def test_a_shape_takes_time_as_the_text_has_length(shape: Shape) -> None:
    """Eight times as much of anything takes eight times as long."""
    assert (
        linear(lambda text: shape.pattern.sub(lambda found: covered(shape, found), text), hostile(shape))
        == []
    )


@pytest.mark.parametrize(
    "work",
    [
        masked,
        is_secret,
        lambda text: keepable("a.py", text),
        lambda text: keepable(".env", text),
        lambda text: is_secret(f"{text}\n"),
    ],
    ids=["masked", "is_secret", "keepable", "keepable of a secret", "is_secret of a line"],
)
def test_all_of_them_together_too(work: Callable[[str], object]) -> None:
    """Half a megabyte takes less than a second, of the signs and of what made it stand still once."""
    pieces = [
        "sk-",
        "sk-a-",
        "secretkey=",
        "-eyJ",
        "eyJaaaaaaaaaaa.",
        "secret='",
        ".tfstate",
        "ibid_a_",
        "export ",
    ]

    assert linear(work, [*pieces, *PARTS]) == []
    assert [piece for piece in pieces if seconds(work, piece, 512 << 10) > 1] == []
