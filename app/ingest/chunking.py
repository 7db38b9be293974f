"""Blocks into chunks: cut at headings, then paragraphs, then sentences. Sizes are o200k tokens.

Every character of the blocks is in exactly one chunk, in order, except that the header of a long table and
the section that its rows are in are repeated in each of its chunks. Chunks do not overlap. Figures:
docs/adr/0008.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile
from math import ceil
from typing import TypeAlias

from app.ingest.columns import BAR, RULE
from app.ingest.layout import BlockKind, LayoutBlock
from app.ingest.tables import (
    MAX_GAP,
    SENTENCE_END,
    are_columns_of,
    describes_columns,
    has_only_dates,
    is_column_header,
)
from app.types import Chunk, ChunkKind

TARGET = 300
"""Tokens to which a chunk is filled: one thought with its context; forty of them are 12,000 tokens."""
LIMIT = 400
"""Maximum tokens of a chunk; a table up to this size is kept whole. The bundled embedder reads 512 of its own
tokens, title and heading included."""
ENOUGH = 120
"""Minimum tokens for a chunk to end before a heading, or before a block that does not fit. Shorter sections
are joined with the next, but never at the price of dividing a table."""
TABLE_TARGET = 350
"""Tokens to which the parts of a long table are filled."""
MAX_LEAD = 40
"""Maximum tokens of a paragraph that is moved to the table it introduces."""
MAX_CAPTION = 20
"""Maximum tokens of a paragraph that is moved to the block after it if it does not end a sentence."""
MAX_HEADER = 80
"""Maximum tokens of a table's header that are repeated."""
MAX_SENTENCE = 200
"""Longer sentences are divided."""
SEGMENT_CHARS, PATH_CHARS = 120, 300
"""Maximum characters of a heading in a path, and of the path; the outermost headings are left out."""
PATH_SEPARATOR = " › "
MAJORITY = 0.75
"""Share of a chunk's text that must be below a heading for it to be part of the chunk's path."""

TERMINATOR = re.compile(
    r"(?<![.!?…])[.!?…]++[\"'”’»)\]]*+(?=\s)"  # Latin, Cyrillic, Greek, Korean: a space must follow
    r"|[。！？｡．]+[”’」』）】]*"  # Chinese and Japanese: none does
    r"|[؟۔।॥։።፧፨။៕]+[\"”»]*"  # Arabic, Urdu, Indic, Armenian, Ethiopic, Burmese, Khmer
)
CLAUSE = re.compile(r"[,;:—–](?=\s)|[،؛、，；：]")
WORD = re.compile(r"(?<=\S)(?=\s)")

ABBREVIATION = re.compile(
    r"(?:^|[\s(“\"])(?:[A-Za-z]|[A-Za-z](?:\.[A-Za-z])+|mr|mrs|ms|dr|prof|st|no|nos|vs|inc|ltd|co|corp|jr|sr|fig"
    r"|figs|sec|vol|pp?|eds?|approx|cf|etc|al)\.$",
    re.IGNORECASE,
)
LOOKBACK = 16
"""Characters before a full stop in which an abbreviation is looked for."""
SLICE = 64
"""Characters of a slice of an overlong word: at most four bytes, so four tokens, each."""
MAX_MARKS = 8
"""Maximum combining marks that are kept with their letter."""
MAX_CHARS_PER_TOKEN = 32
"""Longer texts are taken to exceed their limit without being counted, since a long word is slow to count."""

Count: TypeAlias = Callable[[str], int]
"""The number of o200k tokens of a text."""
Split: TypeAlias = Callable[[str], list[str]]


def sentences(text: str) -> list[str]:
    """The sentences of a text. White space is at the start of the next sentence, where the tokenizer puts it
    too, so that the tokens of the parts add up."""
    return split_at(text, sentence_ends(text))


def sentence_ends(text: str) -> Iterator[int]:
    """Offsets after sentences. A full stop before a lower-case letter or after an abbreviation ends none."""
    for found in TERMINATOR.finditer(text):
        end = found.end()
        if text[found.start()] == ".":
            following = text[end : end + 8].lstrip()[:1]
            if following.islower() or ABBREVIATION.search(text, max(0, end - LOOKBACK), end):
                continue
        yield end


def clauses(text: str) -> list[str]:
    return split_at(text, (found.end() for found in CLAUSE.finditer(text)))


def words(text: str) -> list[str]:
    return split_at(text, (found.start() for found in WORD.finditer(text)))


def slices(text: str) -> list[str]:
    """Runs of characters. A letter keeps its accents and vowel signs."""
    ends: list[int] = []
    end = SLICE
    while end < len(text):
        following = text[end : end + MAX_MARKS]
        marks = takewhile(lambda char: unicodedata.category(char) in {"Mn", "Mc", "Sk"}, following)
        ends.append(end + sum(1 for _ in marks))
        end = ends[-1] + SLICE
    return split_at(text, iter(ends))


def split_at(text: str, ends: Iterator[int]) -> list[str]:
    parts, start = [], 0
    for end in ends:
        if start < end < len(text):
            parts.append(text[start:end])
            start = end
    return [*parts, text[start:]]


def fit(text: str, limit: int, count: Count) -> list[tuple[str, int]]:
    """(part, tokens) for parts of at most `limit` tokens: sentences, of longer ones clauses, words or slices.
    The parts joined are the text. Time is linear."""
    found: list[tuple[str, int]] = []
    for sentence in sentences(text):
        found += divide(sentence, limit, count, (clauses, words, slices))
    return found


def divide(text: str, limit: int, count: Count, splits: tuple[Split, ...]) -> list[tuple[str, int]]:
    """The whole text if it fits, else its parts by the first split, each divided further by the others."""
    tokens = count(text) if len(text) <= limit * MAX_CHARS_PER_TOKEN else limit + 1
    if tokens <= limit or not splits:
        return [(text, tokens)]
    found: list[tuple[str, int]] = []
    for part in splits[0](text):
        for piece, size in divide(part, limit, count, splits[1:]):
            if found and found[-1][1] + size <= limit:
                found[-1] = (found[-1][0] + piece, found[-1][1] + size)
            else:
                found.append((piece, size))
    return found


@dataclass(frozen=True, slots=True)
class Piece:
    """What is never divided: a sentence, a row or a heading."""

    text: str
    """With the white space before it."""
    tokens: int
    page: int
    page_end: int
    block: LayoutBlock

    @property
    def is_heading(self) -> bool:
        return self.block.kind is BlockKind.HEADING

    @property
    def is_rule(self) -> bool:
        return self.text.startswith(f"\n{RULE}") and self.block.kind is BlockKind.TABLE

    @property
    def is_lead(self) -> bool:
        """True if it introduces the rows below: in a table with a head, all that is no row."""
        is_caption = (
            BAR not in self.text and self.block.kind is BlockKind.TABLE and f"\n{RULE}" in self.block.text
        )
        return self.text.endswith(":") or is_caption


def pieces(block: LayoutBlock, count: Count) -> list[Piece]:
    """The pieces of a block, in order. Joined they are a line feed and its text."""
    rows = block.text.split("\n") if block.kind is BlockKind.TABLE else [block.text]
    found, at, turn = [], -1, 0
    for row in rows:
        for text, tokens in fit("\n" + row, MAX_SENTENCE, count):
            turn, page = page_at(block, turn, at + len(text) - len(text.lstrip()))
            at += len(text)
            turn, page_end = page_at(block, turn, at - 1)
            found.append(Piece(text, tokens, page, page_end, block))
    return found


def page_at(block: LayoutBlock, turn: int, offset: int) -> tuple[int, int]:
    while turn + 1 < len(block.pages) and block.pages[turn + 1][0] <= offset:
        turn += 1
    return turn, block.pages[turn][1]


def total(pieces: Iterable[Piece]) -> int:
    return sum(piece.tokens for piece in pieces)


def chunks(blocks: Iterable[LayoutBlock], count: Count) -> list[Chunk]:
    chunker = Chunker(count)
    for block in blocks:
        chunker.add(block)
    chunker.end_chunk()
    return chunker.chunks


class Chunker:
    """Fills one chunk after the other."""

    def __init__(self, count: Count) -> None:
        self.count = count
        self.chunks: list[Chunk] = []
        self.current: list[Piece] = []
        """The chunk that is being filled."""

    def add(self, block: LayoutBlock) -> None:
        """Add a block to the current chunk if it fits, else to a new one; divide it if it fits in neither."""
        added = pieces(block, self.count)
        size, is_table = total(added), block.kind is BlockKind.TABLE
        limit = LIMIT if is_table else TARGET
        enough = MAX_LEAD if is_table and size <= limit else ENOUGH
        text_tokens = total(piece for piece in self.current if not piece.is_heading)
        may_end = block.kind is BlockKind.HEADING or total(self.current) + size > limit
        if may_end and text_tokens >= enough:
            self.end_chunk(before=block)
        if total(self.current) + size <= limit:
            self.current += added
        else:
            self.divide(added, table_headers(added) if is_table else {})

    def divide(self, added: Sequence[Piece], headers: Mapping[int, Sequence[Piece]]) -> None:
        """Spread a long block evenly over chunks. `headers`: by the index of the first row below, the pieces
        that are repeated at the start of each later chunk, until the next header."""
        passed = total(self.current)
        size = passed + total(added)
        longest = max(map(total, headers.values()), default=0)
        share = size / ceil(size / (TABLE_TARGET - longest if longest else TARGET))
        due, header, repeated = share, list[Piece](), 0  # `repeated`: pieces of the current chunk
        sections = section_lines(added)
        for n, piece in enumerate(added):
            has_rows = not all(each.is_lead for each in self.current[repeated:])
            is_due = passed + piece.tokens / 2 > due and has_rows
            is_due &= not (piece.is_rule or (self.current[-1:] and self.current[-1].is_rule))
            if is_due or total(self.current) + piece.tokens > LIMIT:
                leads = self.take_leads(repeated) if headers else []
                self.end_chunk()
                section = [] if leads else [each for each in sections.get(n, []) if each not in header]
                self.current += [*header, *section, *leads]
                due, repeated = due + share, len(header) + len(section)
            header = list(headers.get(n + 1, header))
            self.current.append(piece)
            passed += piece.tokens

    def take_leads(self, repeated: int) -> list[Piece]:
        """Remove the labels at the end of the current chunk that introduce the next rows, if they are short
        and more than the `repeated` header remains."""
        end = len(self.current)
        while end > repeated + 1 and len(self.current) - end < MAX_GAP and self.current[end - 1].is_lead:
            end -= 1
        if total(self.current[end:]) > MAX_LEAD:
            return []
        leads, self.current = self.current[end:], self.current[:end]
        return leads

    def end_chunk(self, before: LayoutBlock | None = None) -> None:
        """End the current chunk. What introduces the block `before` which it ends is moved to the next
        one."""
        end = len(self.current) if before is None else introduction(self.current, before)
        ended, self.current = self.current[:end], self.current[end:]
        self.append(ended)

    def append(self, ended: list[Piece]) -> None:
        """Make a chunk. The tokens of pieces do not always add up: a chunk over the limit is halved."""
        text = "".join(piece.text for piece in ended).strip()
        tokens = self.count(text)
        if tokens > LIMIT and len(ended) > 1:
            self.append(ended[: len(ended) // 2])
            self.append(ended[len(ended) // 2 :])
        elif text:
            page, page_end = min(piece.page for piece in ended), max(piece.page_end for piece in ended)
            path, kind = heading_path(ended), kind_of(ended)
            self.chunks.append(Chunk(len(self.chunks) + 1, text, page, page_end, path, tokens, kind))


def kind_of(pieces: Sequence[Piece]) -> ChunkKind:
    rows = total(piece for piece in pieces if piece.block.kind is BlockKind.TABLE)
    return ChunkKind.TABLE if 2 * rows > total(pieces) else ChunkKind.TEXT


def introduction(pieces: Sequence[Piece], block: LayoutBlock) -> int:
    """The index from which the pieces of a chunk belong to the block after it: headings, a caption (short and
    not the end of a sentence), or a short lead to a table. A chunk of nothing else ends after them."""
    end = before_headings(pieces, len(pieces))
    if end:
        last = pieces[end - 1].block
        first = next(n for n, piece in enumerate(pieces) if piece.block is last)
        tokens = total(pieces[first:end])
        is_caption = tokens <= MAX_CAPTION and not SENTENCE_END.search(last.text)
        is_lead = tokens <= MAX_LEAD and block.kind is BlockKind.TABLE
        if last.kind is BlockKind.PROSE and (is_caption or is_lead):
            end = before_headings(pieces, first)
    return end or len(pieces)


def before_headings(pieces: Sequence[Piece], end: int) -> int:
    while end and pieces[end - 1].is_heading:
        end -= 1
    return end


def table_headers(rows: Sequence[Piece]) -> dict[int, list[Piece]]:
    """The headers of a table, by the index of the first row below: what is above its first row, and further
    below each line of dates with the lines after it."""
    rules = [n for n, piece in enumerate(rows) if piece.is_rule]
    if rules:
        return {n + 1: ruled_header(rows, n) for n in rules}
    found: dict[int, list[Piece]] = {}
    header: list[Piece] = []
    for n, piece in enumerate(rows):
        if not is_column_header(piece.text):
            if header:
                found[n] = shorten_header(header, piece.text)
            header = []
        elif header or n == 0 or has_only_dates(piece.text):
            header.append(piece)
    return found


def ruled_header(rows: Sequence[Piece], rule: int) -> list[Piece]:
    """The head of columns above a rule, the rule, and captions above them as far as MAX_HEADER allows."""
    first = rule - 1
    while first > 0 and BAR not in rows[first - 1].text and total(rows[first - 1 : rule + 1]) <= MAX_HEADER:
        first -= 1
    return list(rows[max(first, 0) : rule + 1])


def section_lines(rows: Sequence[Piece]) -> dict[int, list[Piece]]:
    """The lines without values right above a group of rows (`ASSETS`, `Current assets:`), by the index of
    each of its rows. They hold until the next ones."""
    found: dict[int, list[Piece]] = {}
    section: list[Piece] = []
    for n, piece in enumerate(rows):
        if BAR in piece.text:
            found[n] = section if total(section) <= MAX_LEAD else []
        elif n and BAR not in rows[n - 1].text and not rows[n - 1].is_rule:
            section = [*section, piece]
        else:
            section = [piece]
    return found


def shorten_header(header: Sequence[Piece], row: str) -> list[Piece]:
    """A header without the row labels below its dates, if the dates are the columns of the row. At most
    MAX_HEADER tokens: the dates first, then the lines nearest to the row."""
    dated = [n for n, piece in enumerate(header) if has_only_dates(piece.text)]
    if dated and are_columns_of([header[n].text for n in dated], row):
        last = dated[-1] + 1
        header = [*header[:last], *takewhile(lambda piece: describes_columns(piece.text), header[last:])]
    order = sorted(range(len(header)), key=lambda n: (has_only_dates(header[n].text), n), reverse=True)
    sums = accumulate(header[n].tokens for n in order)
    kept = [n for n, tokens in zip(order, sums, strict=True) if tokens <= MAX_HEADER]
    return [header[n] for n in sorted(kept)]


def heading_path(pieces: Sequence[Piece]) -> str:
    """The path of headings above nearly all of a chunk's text, outermost first."""
    shares: Counter[tuple[str, ...]] = Counter()
    for piece in [piece for piece in pieces if not piece.is_heading] or pieces:
        shares[piece.block.path] += piece.tokens
    path: tuple[str, ...] = ()
    while below := tokens_below(shares, path):
        heading, tokens = below.most_common(1)[0]
        if tokens < MAJORITY * shares.total():
            break
        path = (*path, heading)
    shown = [heading[:SEGMENT_CHARS] for heading in path]
    while len(PATH_SEPARATOR.join(shown)) > PATH_CHARS:
        shown = shown[1:]
    return PATH_SEPARATOR.join(shown)


def tokens_below(shares: Mapping[tuple[str, ...], int], path: tuple[str, ...]) -> Counter[str]:
    """Tokens under each heading right below a path."""
    found = Counter[str]()
    for each, tokens in shares.items():
        if len(each) > len(path) and each[: len(path)] == path:
            found[each[len(path)]] += tokens
    return found
