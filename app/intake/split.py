"""Blocks into chunks: cut at headings, then paragraphs, then sentences, sized in o200k tokens.

Every character of the blocks is in exactly one chunk, in order; only the heads of a table's columns are
said again where a long table goes on. Chunks do not overlap. Figures: docs/adr/0008.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, takewhile
from math import ceil

from app.db.documents import Chunk
from app.intake.block import Block, Kind
from app.intake.piece import Count, Piece, pieces, weight
from app.intake.table import GAP, SENTENCE_END, are_columns, is_column_head, is_dated, is_of_columns

TARGET = 300
"""Tokens a chunk is filled to: one thought with its surroundings; forty of them are 12,000 tokens."""
LIMIT = 400
"""Tokens of the largest chunk; a table up to it is kept whole. The bundled embedder reads 512 of its own,
title and heading included."""
ENOUGH = 120
"""Tokens from which a chunk may end before a heading, or before a block that does not fit; shorter sections
are joined with the next, but never at the price of dividing a table."""
LONG_TABLE = 350
"""Tokens to which the parts of a longer table are filled."""
LEAD = 40
"""Tokens of the longest paragraph that is moved to the table it introduces."""
CAPTION = 20
"""Tokens of the longest paragraph that is moved to what follows if it ends no sentence."""
COLUMN_HEADS = 80
"""Most tokens of the heads of columns that are said again."""
SEGMENT_CHARS, PATH_CHARS = 120, 300
"""Of one heading in a path, and of a path; the outermost are left out."""
JOINT = " › "
MAJORITY = 0.75
"""Share of a chunk's text that must stand under a heading for it to be the chunk's."""


def split(blocks: Iterable[Block], count: Count) -> list[Chunk]:
    """The chunks of a document."""
    packer = Packer(count)
    for block in blocks:
        packer.take(block)
    packer.close()
    return packer.done


class Packer:
    """Fills one chunk after the other."""

    def __init__(self, count: Count) -> None:
        self.count = count
        self.done: list[Chunk] = []
        self.held: list[Piece] = []
        """The chunk under way."""

    @property
    def tokens(self) -> int:
        """Of the chunk under way."""
        return weight(self.held)

    @property
    def said(self) -> int:
        """Of its text, without the headings."""
        return weight(piece for piece in self.held if not piece.heads)

    def take(self, block: Block) -> None:
        """One block: whole if it fits here or in a chunk of its own, else divided."""
        group = pieces(block, self.count)
        table, total = block.kind is Kind.TABLE, weight(group)
        room = LIMIT if table else TARGET
        least = LEAD if table and total <= room else ENOUGH
        if (block.kind is Kind.HEADING or self.tokens + total > room) and self.said >= least:
            self.close(before=block)
        if self.tokens + total <= room:
            self.held += group
        else:
            self.fill(group, column_heads(block, group))

    def fill(self, group: Sequence[Piece], heads: Mapping[int, Sequence[Piece]]) -> None:
        """Spread a long block evenly. `heads`, by the piece behind them, stand again at the head of each
        chunk that begins further below, until others take their place."""
        passed = self.tokens
        total = passed + weight(group)
        most = max(map(weight, heads.values()), default=0)
        share = total / ceil(total / (LONG_TABLE - most if most else TARGET))
        due, again, said = share, list[Piece](), 0
        for n, piece in enumerate(group):
            full = passed + piece.tokens / 2 > due and not all(map(is_lead, self.held[said:]))
            if full or self.tokens + piece.tokens > LIMIT:
                parted = self.labels(said) if heads else []
                self.close()
                self.held += [*again, *parted]
                due, said = due + share, len(again)
            again = list(heads.get(n + 1, again))
            self.held.append(piece)
            passed += piece.tokens

    def labels(self, said: int) -> list[Piece]:
        """Taken off the end of the chunk under way: what introduces the rows that follow, if it is little and
        more is left than the heads `said` again."""
        end = len(self.held)
        while end > said + 1 and len(self.held) - end < GAP and is_lead(self.held[end - 1]):
            end -= 1
        if weight(self.held[end:]) > LEAD:
            end = len(self.held)
        parted, self.held = self.held[end:], self.held[:end]
        return parted

    def close(self, before: Block | None = None) -> None:
        """End the chunk under way. What introduces the block that follows goes with it."""
        end = len(self.held) if before is None else introduced(self.held, before)
        ended, self.held = self.held[:end], self.held[end:]
        self.add(ended)

    def add(self, ended: list[Piece]) -> None:
        """Keep a chunk. Tokens of pieces do not always add up: what is over the limit is halved."""
        text = "".join(piece.text for piece in ended).strip()
        tokens = self.count(text)
        if tokens > LIMIT and len(ended) > 1:
            self.add(ended[: len(ended) // 2])
            self.add(ended[len(ended) // 2 :])
        elif text:
            page, page_end = min(piece.page for piece in ended), max(piece.page_end for piece in ended)
            self.done.append(Chunk(len(self.done) + 1, text, page, page_end, heading(ended), tokens))


def is_lead(piece: Piece) -> bool:
    """Whether it is a label that introduces rows."""
    return piece.text.endswith(":")


def introduced(held: Sequence[Piece], block: Block) -> int:
    """Where in a chunk begins what belongs to the next block: headings, a short line that ends no sentence,
    a short lead to a table. A chunk of nothing else ends behind them."""
    end = before_headings(held, len(held))
    if end:
        lead = held[end - 1].block
        first = next(n for n, piece in enumerate(held) if piece.block is lead)
        if lead.kind is Kind.PROSE and leads(lead.text, weight(held[first:end]), block):
            end = before_headings(held, first)
    return end or len(held)


def leads(text: str, tokens: int, block: Block) -> bool:
    """Whether a paragraph is a caption of the next block, or a table's short lead."""
    captions = tokens <= CAPTION and not SENTENCE_END.search(text)
    return captions or (tokens <= LEAD and block.kind is Kind.TABLE)


def before_headings(held: Sequence[Piece], end: int) -> int:
    """`end`, or where the headings right before it begin."""
    while end and held[end - 1].heads:
        end -= 1
    return end


def column_heads(block: Block, group: Sequence[Piece]) -> dict[int, list[Piece]]:
    """What says the columns of a table's rows, by the piece behind it: what stands above its first row, and
    further below each line of dates with what follows it. Little of it: where it is long, its end."""
    if block.kind is not Kind.TABLE:
        return {}
    found: dict[int, list[Piece]] = {}
    heads: list[Piece] = []
    for n, piece in enumerate(group):
        if not is_column_head(piece.text):
            if heads:
                found[n] = trimmed(heads, piece.text)
            heads = []
        elif heads or n == 0 or is_dated(piece.text):
            heads.append(piece)
    return found


def trimmed(heads: Sequence[Piece], row: str) -> list[Piece]:
    """Without the labels of rows that stand below the dates, if these are the columns of the row; no more
    than may be said again: the dates first of all, then the nearest to the row."""
    dated = [n for n, piece in enumerate(heads) if is_dated(piece.text)]
    if dated and are_columns([heads[n].text for n in dated], row):
        last = dated[-1] + 1
        heads = [*heads[:last], *takewhile(lambda piece: is_of_columns(piece.text), heads[last:])]
    order = sorted(range(len(heads)), key=lambda n: (is_dated(heads[n].text), n), reverse=True)
    sums = accumulate(heads[n].tokens for n in order)
    kept = [n for n, tokens in zip(order, sums, strict=True) if tokens <= COLUMN_HEADS]
    return [heads[n] for n in sorted(kept)]


def heading(ended: Sequence[Piece]) -> str:
    """The path that nearly all of a chunk's text stands under, outermost first."""
    shares: Counter[tuple[str, ...]] = Counter()
    for piece in [piece for piece in ended if not piece.heads] or ended:
        shares[piece.block.path] += piece.tokens
    path: tuple[str, ...] = ()
    while following := below(shares, path):
        segment, tokens = following.most_common(1)[0]
        if tokens < MAJORITY * shares.total():
            break
        path = (*path, segment)
    return shortened([segment[:SEGMENT_CHARS] for segment in path])


def below(shares: Mapping[tuple[str, ...], int], path: tuple[str, ...]) -> Counter[str]:
    """Tokens under each heading right below a path."""
    following = Counter[str]()
    for each, tokens in shares.items():
        if len(each) > len(path) and each[: len(path)] == path:
            following[each[len(path)]] += tokens
    return following


def shortened(path: list[str]) -> str:
    """A path as it is shown, without its outermost where it is long."""
    while len(JOINT.join(path)) > PATH_CHARS:
        path = path[1:]
    return JOINT.join(path)
