"""Chunks: whole, in order, of a size, with the structure they stand in."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.ingest.chunking import ENOUGH, LIMIT, TARGET, chunks, fit, sentences
from app.ingest.layout import BlockKind, LayoutBlock
from app.text.vocabulary import count


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("He paid $3.5 million. Then left.", ["He paid $3.5 million.", "Then left."]),
        ("Mr. Smith of Acme Inc. was there.", ["Mr. Smith of Acme Inc. was there."]),
        ("The U.S. Dollar fell. E.g. here.", ["The U.S. Dollar fell.", "E.g. here."]),
        ("See www.example.com for more.", ["See www.example.com for more."]),
        ("“It ended.” She left.", ["“It ended.”", "She left."]),
        ("Wait... what? No.", ["Wait... what?", "No."]),
        ("你好。再见！是吗？好", ["你好。", "再见！", "是吗？", "好"]),
        ("これは「本。」です。はい。", ["これは「本。」", "です。", "はい。"]),
        ("كيف حالك؟ بخير. شكرا", ["كيف حالك؟", "بخير.", "شكرا"]),
        ("यह एक है। वह दो है।", ["यह एक है।", "वह दो है।"]),
        ("یہ ایک ہے۔ وہ دو ہے۔", ["یہ ایک ہے۔", "وہ دو ہے۔"]),
        ("Это так. Да.", ["Это так.", "Да."]),
        ("", [""]),
    ],
)  # fmt: skip
def test_sentences_end_where_their_script_ends_them(text: str, found: list[str]) -> None:
    """Abbreviations, figures and addresses end none."""
    assert [sentence.strip() for sentence in sentences(text)] == found


@settings(deadline=None)
@given(st.text("aB.!? ,;\n。؟“”)1", max_size=300), st.integers(1, 60))
def test_pieces_are_the_text_again_and_fit(text: str, limit: int) -> None:
    """Nothing is lost, nothing is over."""
    found = fit(text, limit * 4, count)
    assert "".join(piece for piece, _ in found) == text
    assert all(tokens <= max(limit * 4, 64 * 4) for _, tokens in found)


@settings(deadline=None)
@given(st.text(max_size=400), st.integers(256, 300))
def test_any_text_can_be_cut_to_fit(text: str, limit: int) -> None:
    """In any script, sized as counted."""
    found = fit(text * 20, limit, count)
    assert "".join(piece for piece, _ in found) == text * 20
    assert all(count(piece) <= limit + 8 for piece, _ in found)


def test_a_word_over_the_limit_is_cut_by_characters() -> None:
    """Text without any place to cut fits all the same."""
    found = fit("x" * 100_000, 200, count)
    assert "".join(piece for piece, _ in found) == "x" * 100_000
    assert max(tokens for _, tokens in found) <= 200
    assert len(found) < 400


def test_a_letter_keeps_its_marks() -> None:
    """A cut never parts a vowel sign from its letter."""
    assert not any(piece[0] == "ि" for piece, _ in fit("कि" * 500, 200, count))


SENTENCE = "The quick brown fox jumps over the lazy dog and runs away from it. "


"""15 tokens."""


def block(text: str, kind: BlockKind = BlockKind.PROSE, *path: str, page: int = 1) -> LayoutBlock:
    """A block on one page."""
    return LayoutBlock(kind, text.strip(), ((0, page),), path)


def prose(sentences: int, *path: str, page: int = 1) -> LayoutBlock:
    """A paragraph of so many sentences."""
    return block(SENTENCE * sentences, BlockKind.PROSE, *path, page=page)


def head(text: str, *above: str, page: int = 1) -> LayoutBlock:
    return block(text, BlockKind.HEADING, *above, text, page=page)


def table(rows: int, *path: str) -> LayoutBlock:
    """A table with two lines of column heads."""
    lines = [f"Row {n} {n},000 {n},500" for n in range(rows)]
    return block("\n".join(["In thousands, for the years", "2022 2021", *lines]), BlockKind.TABLE, *path)


def characters(text: str) -> str:
    """A text without white space."""
    return "".join(text.split())


DRAWN = st.lists(
    st.one_of(
        st.builds(block, st.text("aé 你.。؟।\n1", min_size=1, max_size=2_000).filter(str.strip)),
        st.builds(prose, st.integers(1, 80), st.sampled_from(["", "A", "B"]), page=st.integers(1, 9)),
        st.builds(head, st.sampled_from(["A", "B", "A long heading " * 20]), page=st.integers(1, 9)),
        st.builds(table, st.integers(2, 12)),
    ),
    max_size=25,
)


@settings(deadline=None)
@given(DRAWN)
def test_no_character_is_lost_or_moved(blocks: list[LayoutBlock]) -> None:
    """All found together are all blocks together, but for white space."""
    found = chunks(blocks, count)
    assert characters("".join(chunk.text for chunk in found)) == characters("".join(b.text for b in blocks))


@settings(deadline=None)
@given(DRAWN)
def test_chunks_keep_their_measure(blocks: list[LayoutBlock]) -> None:
    """Tokens are counted exactly and never over the limit; ordinals count from 1; none is empty."""
    found = chunks(blocks, count)
    assert [chunk.ordinal for chunk in found] == list(range(1, len(found) + 1))
    assert all(chunk.text.strip() and chunk.tokens == count(chunk.text) <= LIMIT for chunk in found)
    assert all(chunk.page <= chunk.page_end for chunk in found)


def test_paragraphs_fill_chunks_near_the_target() -> None:
    """Whole paragraphs as far as they fit."""
    found = chunks([prose(5) for _ in range(40)], count)
    assert all(TARGET - 90 < chunk.tokens <= TARGET for chunk in found[:-1])


def test_a_long_paragraph_is_spread_evenly_at_sentences() -> None:
    """No crumb is left at its end."""
    found = chunks([prose(45)], count)
    assert len(found) == 3
    assert all(chunk.text.endswith("from it.") for chunk in found)
    assert max(chunk.tokens for chunk in found) - min(chunk.tokens for chunk in found) < 40


def test_a_section_begins_a_chunk() -> None:
    """With its heading as the first line and in the path."""
    found = chunks([head("A"), prose(12, "A"), head("B"), prose(12, "B")], count)
    assert [chunk.heading for chunk in found] == ["A", "B"]
    assert found[1].text.startswith("B\nThe quick")


def test_a_heading_never_ends_a_chunk() -> None:
    """Several before a text go with it; only at the end of the document nothing follows."""
    blocks = [prose(12, "A"), head("B"), head("C", "B"), prose(15, "B", "C"), head("D")]
    found = chunks(blocks, count)
    assert found[1].text.startswith("B\nC\nThe quick")
    assert found[1].heading == "B › C"
    assert found[-1].text.endswith("D")


def test_short_sections_share_a_chunk_and_its_path_is_what_they_share() -> None:
    """Crumbs would say little by themselves."""
    blocks = [b for name in "BCD" for b in (head(name, "A"), prose(2, "A", name))]
    [chunk] = chunks(blocks, count)
    assert chunk.heading == "A"
    assert chunk.tokens < ENOUGH + 30


def test_a_table_that_fits_is_whole_and_goes_with_its_lead() -> None:
    """A chunk ends before the sentence that introduces it."""
    lead = block("Sales were as follows:")
    found = chunks([prose(14), lead, table(22), prose(3)], count)
    [held] = [chunk for chunk in found if "Row 0 " in chunk.text]
    assert held.text.startswith("Sales were as follows:\nIn thousands")
    assert "Row 21 " in held.text


def test_a_long_table_says_its_column_heads_again() -> None:
    """Figures without them mean nothing; no row is said twice."""
    found = chunks([table(120)], count)
    assert len(found) > 3
    assert all(chunk.text.startswith("In thousands, for the years\n2022 2021\nRow") for chunk in found)
    rows = [line for chunk in found for line in chunk.text.split("\n")[2:]]
    assert rows == table(120).text.split("\n")[2:]


def statement(*heads: str, rows: int = 60) -> str:
    """A table with these heads."""
    return "\n".join([*heads, *(f"Row{n} {n},000 {n},500 {n},250" for n in range(rows))])


@pytest.mark.parametrize(
    ("heads", "again"),
    [
        pytest.param(
            ("(in thousands)", "Years ended June 30, 2022 2021 2020", "Fares and freight:"),
            ("(in thousands)", "Years ended June 30, 2022 2021 2020"),
            id="years beside words",
        ),
        pytest.param(
            ("June 30, 2022", "July 1, 2021", "July 2, 2020", "(in thousands)", "Fares"),
            ("June 30, 2022", "July 1, 2021", "July 2, 2020", "(in thousands)"),
            id="dates below each other",
        ),
        pytest.param(
            ("Three years ended June 30, 2022", "Boats", "Crews", "Piers"),
            ("Three years ended June 30, 2022", "Boats", "Crews", "Piers"),
            id="names below a period",
        ),
        pytest.param(
            ("Of 2022", *[SENTENCE.strip()] * 8, "Boats"),
            ("Of 2022", *[SENTENCE.strip()] * 4, "Boats"),
            id="of long ones the years, and the end",
        ),
    ],
)
def test_each_part_of_a_table_says_the_years_of_its_figures(
    heads: tuple[str, ...], again: tuple[str, ...]
) -> None:
    """With the labels of rows that stand below them left out."""
    first, *others = chunks([block(statement(*heads), BlockKind.TABLE)], count)
    assert first.text.startswith("\n".join(heads))
    assert len(others) > 1
    assert all(chunk.text.startswith("\n".join(again) + "\nRow") for chunk in others)


def test_the_latest_years_hold() -> None:
    """A table that begins anew within another has columns of its own."""
    both = "\n".join([statement("2022 2021 2020", rows=20), statement("2019 2018 2017", rows=50)])
    *_, before, last = chunks([block(both, BlockKind.TABLE)], count)
    assert before.text.startswith("2019 2018 2017\nRow")
    assert last.text.startswith("2019 2018 2017\nRow")


def test_what_introduces_rows_goes_with_them() -> None:
    """A label with a colon does not end a part of a table."""
    rows = [f"Row {n} {n},000 {n},500" if n % 3 else f"Kind {n}:" for n in range(150)]
    found = chunks([block("\n".join(["2022 2021", *rows]), BlockKind.TABLE)], count)
    assert len(found) > 3
    assert not any(chunk.text.endswith(":") for chunk in found)


@pytest.mark.parametrize(("labels", "words"), [(3, 5), (6, 20)], ids=["short rows", "long rows"])
def test_no_part_of_a_table_is_without_a_row(labels: int, words: int) -> None:
    """The heads of its columns and labels alone say nothing."""
    long = f"Row {'of ferries and boats ' * words}12 11"
    lead = [f"Kind {n} {'and ' * 30}kind:" for n in range(labels)]
    text = "\n".join(["2022 2021", *[*lead, long] * 8])
    found = chunks([block(text, BlockKind.TABLE)], count)
    assert len(found) > 3
    assert all("Row" in chunk.text for chunk in found)


def test_pages_span_what_the_chunk_holds() -> None:
    """A sentence that begins on a page belongs to it, and to the next if it goes on there."""
    text = SENTENCE * 3
    over = LayoutBlock(BlockKind.PROSE, text.strip(), ((0, 3), (len(SENTENCE), 4)))
    [chunk] = chunks([over], count)
    assert (chunk.page, chunk.page_end) == (3, 4)
    first, *rest = chunks(
        [LayoutBlock(BlockKind.PROSE, (SENTENCE * 40).strip(), ((0, 3), (len(SENTENCE) * 20, 4)))], count
    )
    assert (first.page, rest[-1].page, rest[-1].page_end) == (3, 4, 4)


def test_a_deep_path_keeps_its_innermost_headings() -> None:
    """At most 300 characters, each heading at most 120."""
    path = [f"Heading {n} " + "x" * 200 for n in range(6)]
    [chunk] = chunks([block("Text.", BlockKind.PROSE, *path)], count)
    assert len(chunk.heading) <= 300
    assert chunk.heading.split(" › ")[-1].startswith("Heading 5")


@pytest.mark.parametrize(
    ("sentence", "end"),
    [
        ("这是一个关于世界的很长的句子，它说了很多话。", "。"),
        ("これは世界についての長い文です。", "。"),
        ("هذه جملة طويلة عن العالم وما فيه من أشياء؟ ", "؟"),
        ("यह दुनिया के बारे में एक लंबा वाक्य है। ", "।"),
        ("Это длинное предложение о мире и его вещах. ", "."),
        ("นี่คือประโยคยาวเกี่ยวกับโลก ", "ก"),
    ],
    ids=["zh", "ja", "ar", "hi", "ru", "th"],
)
def test_every_script_is_cut_at_its_sentences(sentence: str, end: str) -> None:
    """Chunks of texts without Latin letters are of the same size and end where sentences do."""
    found = chunks([block(sentence * 200)], count)
    assert len(found) > 3
    assert all(TARGET / 2 < chunk.tokens <= LIMIT for chunk in found)
    assert all(chunk.text.endswith(end) for chunk in found)
