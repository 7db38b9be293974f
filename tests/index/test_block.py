"""Blocks: places, the dead, and merging as documents come and go."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from app.index.block import Block, joined, settled, single
from app.index.posting import build


def block(name: str, passages: int) -> Block:
    """A document of so many passages, its vectors telling its rows."""
    texts = [f"{name} {n}" for n in range(1, passages + 1)]
    return single(name, build(texts), np.arange(passages * 2, dtype=np.float32).reshape(-1, 2))


def alive(item: Block) -> list[tuple[str, int]]:
    """Places of the live rows, in order."""
    return [item.place(row) for row in range(item.rows) if item.live is None or item.live[row]]


def test_a_row_knows_its_place() -> None:
    """Document and ordinal, ordinals from 1."""
    both = joined([block("a", 2), block("b", 1)])
    assert alive(both) == [("a", 1), ("a", 2), ("b", 1)]


def test_the_gone_are_masked_and_the_original_stays() -> None:
    """A search under way keeps what it began with."""
    both = joined([block("a", 2), block("b", 1)])
    left = both.without({"a"})
    assert (left.size, left.rows, both.size) == (1, 3, 3)
    assert alive(left) == [("b", 1)]


def test_without_nothing_is_the_same_block() -> None:
    """No copy where nothing goes."""
    one = block("a", 1)
    assert one.without({"z"}) is one


def test_merging_drops_the_dead_with_their_vectors() -> None:
    """Words, vectors and places of what stays keep together."""
    merged = joined([joined([block("a", 2), block("b", 1)]).without({"a"}), block("c", 1)])
    assert alive(merged) == [("b", 1), ("c", 1)]
    assert merged.vectors is not None
    assert merged.vectors.tolist() == [[0, 1], [0, 1]]
    assert merged.live is None


def test_a_block_without_vectors_makes_one_without() -> None:
    """Half a matrix would be wrong rows."""
    bare = single("a", build(["x"]), None)
    assert joined([bare, block("b", 1)]).vectors is None


@given(st.lists(st.integers(1, 9), max_size=40))
def test_blocks_stay_few(sizes: list[int]) -> None:
    """However documents come one by one, there are about as many blocks as the logarithm of the passages."""
    blocks: tuple[Block, ...] = ()
    for n, size in enumerate(sizes):
        blocks = settled([*blocks, block(f"{n:02}", size)])
    assert [place for item in blocks for place in alive(item)] == [
        (f"{n:02}", ordinal) for n, size in enumerate(sizes) for ordinal in range(1, size + 1)
    ]
    assert len(blocks) <= np.log2(max(sum(sizes), 1)) + 1


def test_a_block_that_is_mostly_dead_is_made_small() -> None:
    """Memory of removed documents comes back; a block with nobody left goes."""
    both = joined([block("a", 3), block("b", 1)])
    assert [item.rows for item in settled([both.without({"a"})])] == [1]
    assert settled([both.without({"a", "b"})]) == ()


def test_memory_is_words_and_vectors() -> None:
    """What the least recently used are given up by."""
    one = block("a", 2)
    assert one.nbytes == one.words.nbytes + 2 * 2 * 4
