"""What a service must hold after whatever happened to it: every acknowledged word, and nothing by halves.

A `Shelf` is one file name with all that was ever sent under it. `Ledger.check` holds the service against
the shelves at any moment, also while it reads documents in; what was sent without an answer counts as it
is found.
"""

import random
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

from app.ingest.worker import parse
from tests.fakes.pdfs import leaves, stream, text_pdf
from tests.fakes.process import Service

PAGES, LINES = 3, 10
"""Of every document here: two or three chunks."""
ASKED = 6
"""Passages an answer is given: those with the rare word come first."""
SYLLABLES = ("ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu")


def word(n: int) -> str:
    """A word of one document alone."""
    return "".join(SYLLABLES[int(digit)] for digit in f"{n:04d}") + "k"


def pdf(rare: str) -> bytes:
    """A document with the rare word in each of its chunks."""
    line = "The ferry {} carries barrels of herring to pier {}, where the warden counts them twice."
    pages = [" ".join(line.format(rare, 100 * part + n) for n in range(LINES)) for part in range(PAGES)]
    return text_pdf([f"# Part {n}\n\n{page}" for n, page in enumerate(pages)])


def fat(name: str, size: int) -> bytes:
    """A page of text, and a picture that nobody shows."""
    text = f"BT /F 10 Tf 72 720 Td (The ferry {name} carries herring to the pier.) Tj ET".encode()
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    noise = random.Random(name).randbytes(size)  # noqa: S311 - noise, not a secret
    return leaves([stream(text)], b"/Font << /F 3 0 R >>", [font, stream(noise)])


@dataclass
class Version:
    """Some bytes that were sent under a name."""

    rare: str
    id: str = ""
    """As acknowledged; "": the sender never heard."""
    ready: bool = False
    """Known to have been searchable once."""

    def __post_init__(self) -> None:
        self.content = pdf(self.rare)
        self.chunks = len(parse(BytesIO(self.content), "", PAGES).chunks)

    @property
    def whole(self) -> set[str]:
        """The ids (document:ordinal) of all its chunks."""
        return {f"{self.id}:{n}" for n in range(1, self.chunks + 1)}


@dataclass
class Shelf:
    """One name in session `s`."""

    name: str
    versions: list[Version] = field(default_factory=list)
    removed: bool | None = False
    """None: a deletion was sent and not answered."""

    def serving(self, listed: list[dict[str, Any]]) -> str | None:
        """Hold what is listed of this name against what was acknowledged; the id of what serves."""
        for item in listed:
            assert item["state"] != "failed", (self, item)
        self.versions = [version for version in self.versions if self.arrived(version, listed)]
        if self.removed is None:
            self.removed = not listed
        if self.removed:
            assert not listed, (self, listed)
            return None
        newest = self.versions[-1] if self.versions else None
        ready = [item for item in listed if item["state"] == "ready"]
        assert len(ready) <= 1, f"both are served: {listed}"
        assert ready or not any(version.ready for version in self.versions), f"none is served: {self}"
        assert newest is None or newest.id in {item["id"] for item in listed}, f"lost: {self} {listed}"
        return self.served(ready[0]) if ready else None

    def arrived(self, version: Version, listed: list[dict[str, Any]]) -> bool:
        """True if bytes whose sender never heard are there after all; they count as acknowledged then."""
        known = {version.id for version in self.versions}
        fresh = [item["id"] for item in listed if item["id"] not in known]
        version.id = version.id or (fresh[0] if fresh else "")
        return bool(version.id)

    def served(self, item: dict[str, Any]) -> str:
        """What is ready is whole in the list, and never older than what was ready before."""
        at = next(n for n, version in enumerate(self.versions) if version.id == item["id"])
        assert not any(version.ready for version in self.versions[at + 1 :]), f"an old one is back: {self}"
        assert item["chunks"] == self.versions[at].chunks, item
        self.versions[at].ready = True
        return str(item["id"])


@dataclass
class Ledger:
    shelves: dict[str, Shelf] = field(default_factory=dict)

    def check(self, service: Service, *, asked: int = 8) -> None:
        """Hold the list against all shelves, and answers against the first and the newest `asked` of them."""
        items = listing(service)
        assert {item["filename"] for item in items} <= set(self.shelves)
        for n, shelf in enumerate(self.shelves.values()):
            mine = [item for item in items if item["filename"] == shelf.name]
            serving = shelf.serving(mine)
            for version in shelf.versions[-2:] if n == 0 or n >= len(self.shelves) - asked else []:
                found = cited(service, version.rare)
                if version.id == serving:
                    assert version.whole <= found or self.superseded(shelf, version, service), (shelf, found)
                elif found & version.whole:  # it has become ready since it was listed: then it is whole
                    assert version is shelf.versions[-1], (shelf, found)
                    assert version.whole <= found, (shelf, found)

    def superseded(self, shelf: Shelf, version: Version, service: Service) -> bool:
        """True if the newest has taken its place since it was listed."""
        now = [item for item in listing(service) if item["filename"] == shelf.name]
        return version is not shelf.versions[-1] and shelf.serving(now) == shelf.versions[-1].id


def listing(service: Service) -> list[dict[str, Any]]:
    """All of session `s`."""
    reply = service.client.get("/api/documents", params={"session_id": "s", "limit": 200}).json()
    assert reply["next"] is None
    return list(reply["items"])


def cited(service: Service, rare: str) -> set[str]:
    """The ids (document:ordinal) of the passages that an answer about a word is given."""
    said = service.chat(f"What does the ferry {rare} carry?", history=[], top_k=ASKED)
    assert said["degraded"] == [], said
    return {item["id"] for item in said["citations"]}
