"""Where the embedded engine's collections lie: a folder each, and beside the engine's files a page with the
true name and the shape.

Names come from clients of the API, so folders are named after a hash (any name is safe, on any disk) with as
much of the name in front as is plain. The engine's own files are in a numbered folder within, and the page
says which number counts: a new one is built beside and then takes over in one step, crash or not.
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

PAGE = "collection.json"
ASIDE = ".aside"
"""Ends the folder of a collection that could not be read; the newest one of each is kept."""
GONE = ".gone"
"""Ends the folder of one that is being deleted."""
PLAIN = 40
"""Characters of the name that its folder shows."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a collection is, and where its files are."""

    name: str
    dim: int
    keys: tuple[str, ...] = ()
    tenants: tuple[str, ...] = ()
    times: tuple[str, ...] = ()
    turn: int = 1
    """The number of the folder that counts."""

    def also(self, keys: Sequence[str], tenants: Sequence[str], times: Sequence[str]) -> "Shape":
        """With these fields indexed too."""
        return replace(
            self,
            keys=tuple(dict.fromkeys((*self.keys, *keys))),
            tenants=tuple(dict.fromkeys((*self.tenants, *tenants))),
            times=tuple(dict.fromkeys((*self.times, *times))),
        )


def folder_of(root: Path, name: str) -> Path:
    """A collection's folder: `memory_raw-9f86d081884c7d65`."""
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:PLAIN]
    return root / f"{plain}-{digest}"


def read(place: Path) -> Shape | None:
    """What the page says; None: there is none that can be read."""
    try:
        told = json.loads((place / PAGE).read_text("utf-8"))
        fields = {name: tuple(told[name]) for name in ("keys", "tenants", "times")}
        return Shape(str(told["name"]), int(told["dim"]), turn=int(told["turn"]), **fields)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write(place: Path, shape: Shape) -> None:
    """In one step: a crash leaves the old page or the new one."""
    place.mkdir(parents=True, exist_ok=True)
    draft = place / f"{PAGE}.new"
    with draft.open("w", encoding="utf-8") as page:
        json.dump(asdict(shape), page)
        page.flush()
        os.fsync(page.fileno())
    draft.replace(place / PAGE)
    settle(place)


def settle(folder: Path) -> None:
    """A folder's own entries are on disk: a rename is not, before that."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def files(place: Path, shape: Shape) -> Path:
    """The engine's own folder."""
    return place / str(shape.turn)


def size(folder: Path) -> int:
    """Bytes that a folder's files take on the disk."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*"))


def shapes(root: Path) -> Iterator[tuple[Path, Shape]]:
    """Every collection's folder and page."""
    for place in sorted(root.iterdir() if root.is_dir() else ()):
        shape = None if place.name.endswith((GONE, ASIDE)) else read(place)
        if shape:
            yield place, shape


def sweep(root: Path) -> None:
    """Remove what a crash left half deleted or half built. Only while nobody uses the folder."""
    for gone in root.glob(f"*{GONE}"):
        shutil.rmtree(gone, ignore_errors=True)
    for place, shape in shapes(root):
        tidy(place, shape)


def tidy(place: Path, shape: Shape) -> None:
    """Only the folder that counts stays."""
    for each in place.iterdir():
        if each.is_dir() and each.name != str(shape.turn):
            shutil.rmtree(each, ignore_errors=True)


def put_aside(place: Path) -> None:
    """Out of the way, for whoever wants to look."""
    aside = place.with_name(place.name + ASIDE)
    shutil.rmtree(aside, ignore_errors=True)
    place.replace(aside)


def forget_aside(place: Path) -> None:
    """What was put aside holds texts too."""
    shutil.rmtree(place.with_name(place.name + ASIDE), ignore_errors=True)


def delete(place: Path) -> None:
    """Gone at once by name, then by its files."""
    gone = place.with_name(place.name + GONE)
    shutil.rmtree(gone, ignore_errors=True)
    if place.exists():
        place.replace(gone)
        shutil.rmtree(gone, ignore_errors=True)
    forget_aside(place)
