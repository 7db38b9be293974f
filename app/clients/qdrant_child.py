"""The process of the embedded Qdrant (`-m app.clients.qdrant_child FOLDER [look] [suspect...]`), called by
`qdrant_process.py`. `look` (else an empty argument): nothing in the folder is moved. Collections that are
suspected of having crashed the last process are put aside first; their names are JSON.

Exit codes: REFUSED when the folder cannot be used, INTERNAL after an unexpected error.
"""

import errno
import json
from functools import partial
from pathlib import Path
from typing import Any

from app.child import Call, Parent, connected
from app.clients.points import Point, Where
from app.clients.qdrant_engine import Broken, Edge
from app.errors import NoRoom, RetrievalError

THREADS = 8
READS = frozenset({"search", "scroll", "count"})


def main() -> None:
    """Open the folder, answer calls, close it."""
    parent, (folder, look, *suspects) = connected()
    edge = opened(parent, Path(folder), look=bool(look))
    for name in suspects:
        edge.put_aside(json.loads(name))
    parent.ready()
    parent.serve(partial(answer, edge), threads=THREADS)
    edge.close()


def opened(parent: Parent, folder: Path, *, look: bool) -> Edge:
    """The folder; exit if it cannot be used."""
    try:
        return Edge(folder, look=look)
    except OSError as error:
        parent.refuse(str(error))


def answer(edge: Edge, call: Call) -> None:
    """Answer a call: a reply, or a fault (`fault`: missing, rejected, full, unavailable). Both name
    the collections that were put aside (`lost`)."""
    try:
        reply, data = perform(edge, call.name, call.payload, bytes(call.data))
    except RetrievalError as error:
        call.fail({"fault": "missing" if error.missing else "rejected", **lost(edge)})
    except (TypeError, ValueError, OverflowError, RecursionError):  # the engine cannot hold such a value
        call.fail({"fault": "rejected", **lost(edge)})
    except NoRoom as error:
        # A collection that cannot be opened for want of room is one that does not answer.
        fault = "unavailable" if call.name in READS else "full"
        call.fail({"fault": fault, "detail": error.detail, **lost(edge)})
    except (Broken, OSError) as error:
        full = error.full if isinstance(error, Broken) else error.errno in {errno.ENOSPC, errno.EDQUOT}
        detail = "The disk of the memories' index is full" if full else type(error).__name__
        call.fail({"fault": "full" if full else "unavailable", "detail": detail, **lost(edge)})
    else:
        call.reply({**reply, **lost(edge)}, data)


def perform(edge: Edge, do: str, given: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    """Call a method of `Edge`; the reply's payload and data. Vectors travel as data."""
    match do:
        case "shapes":
            return {"shapes": edge.shapes()}, b""
        case "create":
            edge.create(**given)
        case "drop":
            edge.drop(**given)
        case "put":
            edge.put(given["name"], unpacked(given["points"], data))
        case "remove":
            edge.remove(given["name"], where(given["where"]))
        case "search":
            asked = (where(given["where"]), data, given["limit"])
            return packed(edge.search(given["name"], *asked, payload=given["payload"]))
        case "scroll":
            asked_page = (where(given["where"]), given["limit"], given["after"])
            return packed(edge.scroll(given["name"], *asked_page, vectors=given["vectors"]))
        case "count":
            return {"count": edge.count(given["name"], where(given["where"]))}, b""
        case "compact":
            edge.compact(**given)
        case "check":
            return dict(edge.check()), b""
        case _:
            raise ValueError(do)
    return {}, b""


def lost(edge: Edge) -> dict[str, list[str]]:
    """Take the names of the collections that were put aside."""
    names = []
    while edge.lost:
        names.append(edge.lost.popleft())
    return {"lost": names} if names else {}


def where(told: dict[str, Any]) -> Where:
    """A filter as it came."""
    fields = {
        name: tuple((key, tuple(each)) for key, each in told[name]) for name in ("has", "lacks", "open")
    }
    return Where(**fields, ids=None if told["ids"] is None else tuple(told["ids"]))


def packed(points: list[Point]) -> tuple[dict[str, Any], bytes]:
    """Points for a frame: a row each, their vectors behind one another."""
    rows = [[each.id, each.payload, each.score, each.dense and len(each.dense)] for each in points]
    return {"points": rows}, b"".join(each.dense for each in points if each.dense)


def unpacked(rows: list[list[Any]], data: bytes) -> list[Point]:
    """The points of a frame."""
    points, at = [], 0
    for id_, payload, score, size in rows:
        points.append(Point(id_, payload, data[at : at + size] if size else None, score))
        at += size or 0
    return points


if __name__ == "__main__":
    main()
