"""Points lately read, at hand: the embedded engine then gives ids and scores, and reads nothing again.

To read a point and make it ours costs 25 us beside the 5 of its id, and a question looks at some 300. Nobody
else writes to an embedded engine, so what is kept here is what is there: whoever writes forgets it here, and
what was read while somebody wrote is not kept. Safe in threads; nothing here raises.
"""

import threading
from array import array
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from sys import getsizeof
from typing import TypeAlias
from uuid import UUID

from app.clients.points import TEXTS, Payload, Point, Sparse
from app.domain.text import Text

ROOM = 48 << 20
"""Bytes, about; some 10,000 memories or 5,000 pages."""
LARGEST = 16
"""So many fit at least: one that is larger is not kept."""
PAIR = 8
"""Bytes of a term and its weight."""
COPIES = 4
"""Of a text: quoted, as a line, told apart from twins."""
VALUE = 64
"""Bytes of any other value, or of a place in a list."""

Identity: TypeAlias = int | UUID | str
"""As the engine gives it: a number or a UUID."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A point as it was read, its words packed."""

    id: str
    payload: Payload
    words: Sparse | None
    size: int
    """Bytes, about."""


def kept(point: Point) -> Kept:
    """A point packed: weights are float32, so four bytes hold all of each. Its text remembers what is worked
    out from it (quotation, hash, tokens, days), question after question."""
    payload = {name: Text(value) if is_text(name, value) else value for name, value in point.payload.items()}
    size = weight(point.payload) + sum([COPIES * getsizeof(str(value)) for value in texts(payload)])
    if point.words is None:
        return Kept(point.id, payload, None, size)
    packed = Sparse(array("I", point.words.indices), array("f", point.words.values))
    return Kept(point.id, payload, packed, size + PAIR * len(packed.indices))


def is_text(name: str, value: object) -> bool:
    """Whether it is worth remembering what is worked out from it."""
    return name in TEXTS and isinstance(value, str)


def texts(payload: Payload) -> list[str]:
    """Those of a payload."""
    return [value for value in payload.values() if isinstance(value, Text)]


def weight(value: object) -> int:
    """Bytes of a value of JSON with all that it holds, about; in turns, for it may be nested deeply."""
    size, waiting = 0, [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            size += getsizeof(one)
            continue
        size += VALUE
        if isinstance(one, dict):
            size += sum(map(getsizeof, one))
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
    return size


class Hand:
    """Of all collections together; `whose` is one of them. The longest unread go first."""

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._used = 0
        self._lock = threading.Lock()
        self._held: OrderedDict[tuple[object, Identity], Kept] = OrderedDict()

    @property
    def used(self) -> int:
        """Bytes, about."""
        return self._used

    def known(self, whose: object, ids: Iterable[Identity]) -> dict[Identity, Kept]:
        """Those that are at hand."""
        found = {}
        with self._lock:
            for each in ids:
                if one := self._held.get((whose, each)):
                    self._held.move_to_end((whose, each))
                    found[each] = one
        return found

    def keep(self, whose: object, points: Mapping[Identity, Kept], current: Callable[[], bool]) -> None:
        """What was read; `current`: nobody wrote since the reading began."""
        with self._lock:
            if not current():
                return
            for each, one in points.items():
                self._drop((whose, each))  # another question may have read it at the same time
                if one.size <= self._room // LARGEST:
                    self._held[whose, each] = one
                    self._used += one.size
            while self._used > self._room:
                self._drop(next(iter(self._held)))

    def forget(self, whose: object, ids: Collection[Identity] | None = None) -> None:
        """These have changed; None: any of the collection's may have."""
        with self._lock:
            gone = (
                [key for key in self._held if key[0] is whose]
                if ids is None
                else [(whose, each) for each in ids]
            )
            for key in gone:
                self._drop(key)

    def _drop(self, key: tuple[object, Identity]) -> None:
        """One, if it is here."""
        if one := self._held.pop(key, None):
            self._used -= one.size
