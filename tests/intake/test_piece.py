"""What chunks are put together of."""

from hypothesis import given
from hypothesis import strategies as st

from app.intake.block import Block, Kind
from app.intake.piece import pieces, weight
from app.retrieval.vocabulary import count

SENTENCE = "The quick brown fox jumps over the lazy dog and runs away from it. "


@given(st.text("aé 你.?\n1", min_size=1, max_size=2_000), st.sampled_from(Kind))
def test_pieces_are_all_of_a_block(text: str, kind: Kind) -> None:
    """Put together again they are the block, behind a line break."""
    assert "".join(piece.text for piece in pieces(Block(kind, text, ((0, 1),)), count)) == "\n" + text


def test_a_piece_knows_its_pages() -> None:
    """Of a sentence that goes on over the turn of a page both are told."""
    text, turn = SENTENCE * 30, len(SENTENCE) * 15 + 20
    found = pieces(Block(Kind.PROSE, text.strip(), ((0, 3), (turn, 4))), count)

    assert [(found[0].page, found[-1].page_end)] == [(3, 4)]
    assert any((piece.page, piece.page_end) == (3, 4) for piece in found)


def test_each_row_of_a_table_is_a_piece() -> None:
    """A row is never put together with another one."""
    found = pieces(Block(Kind.TABLE, "Income 1 2\nCosts 3 4", ((0, 1),)), count)

    assert [piece.text for piece in found] == ["\nIncome 1 2", "\nCosts 3 4"]
    assert weight(found) == sum(piece.tokens for piece in found)
    assert not any(piece.heads for piece in found)
