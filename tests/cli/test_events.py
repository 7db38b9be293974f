"""Server-sent events as the command line reads them."""

import json
from collections.abc import AsyncIterator, Iterable
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from app.cli.events import events

TEXTS = st.lists(st.text(min_size=1), max_size=5)


async def chunked(stream: bytes, cuts: Iterable[int]) -> AsyncIterator[bytes]:
    """The stream, cut where the network happens to cut it."""
    edges = [0, *sorted({cut % (len(stream) + 1) for cut in cuts}), len(stream)]
    for start, end in pairwise(edges):
        yield stream[start:end]


async def read(stream: bytes, cuts: Iterable[int] = ()) -> list[tuple[str, object]]:
    """All events of a stream."""
    return [event async for event in events(chunked(stream, cuts))]


@given(
    texts=TEXTS, cuts=st.lists(st.integers(min_value=0), max_size=6), ending=st.sampled_from(["\n", "\r\n"])
)
async def test_events_do_not_depend_on_where_the_bytes_are_cut(
    texts: list[str], cuts: list[int], ending: str
) -> None:
    """Any text, U+2028 and half characters included, arrives whole however the stream is split."""
    blocks = [
        ending.join(["event: token", f"data: {json.dumps({'text': text}, ensure_ascii=False)}", "", ""])
        for text in texts
    ]
    stream = "".join(blocks).encode()

    found = await read(stream, cuts)

    assert found == [("token", {"text": text}) for text in texts]


async def test_pings_ids_and_unknown_fields_are_passed_over() -> None:
    """Comments and fields other than event and data make no event."""
    stream = b': ping\n\nid: a:1\nretry: 5\nevent: done\ndata: {"n": 1}\n\n: ping\n\n'

    assert await read(stream) == [("done", {"n": 1})]


async def test_data_of_several_lines_is_joined() -> None:
    """Two data lines are one value with a line break between."""
    assert await read(b'data: {"n":\ndata: 1}\n\n') == [("message", {"n": 1})]


async def test_an_event_without_its_end_is_dropped() -> None:
    """A stream that breaks off inside an event does not show half of it."""
    assert await read(b'event: done\ndata: {"n": 1}\n') == []
