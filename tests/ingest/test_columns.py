"""Tables as text: columns found by places, with their heads, in a form that can be read row by row."""

from collections.abc import Sequence
from dataclasses import replace

from app.ingest.chunking import chunks
from app.ingest.columns import table_text
from app.ingest.layout import blocks
from app.ingest.lines import Line, PlacedWord, Style
from app.text.vocabulary import count

LETTER, SIZE = 5.0, 10.0


def placed(row: float, *cells: tuple[float, str], page: int = 1) -> Line:
    """A line with words at these places; a negative one is where the text ends."""
    words: list[PlacedWord] = []
    base = 700 - 12 * row
    for at, text in cells:
        left = at if at >= 0 else -at - LETTER * len(text)
        for part in text.split():
            words.append(PlacedWord(part, left, left + LETTER * len(part), base))
            left += LETTER * (len(part) + 0.5)
    text = " ".join(word.text for word in words)
    edges = (words[0].left, max(word.right for word in words), base + SIZE, base)
    return Line(text, page, *edges, Style(SIZE), tuple(words))


def figures(row: float, label: str, *values: str) -> Line:
    """A row with its values below each other at the right."""
    ends = range(300, 300 + 100 * len(values), 100)
    return placed(row, (50, label), *((-end, value) for end, value in zip(ends, values, strict=True)))


def test_each_row_has_its_values_below_their_heads() -> None:
    """Whatever the order in which a head's lines were drawn; signs stand with their figures."""
    rows = [
        placed(0, (50, "(in millions)")),
        placed(1, (255, "August 29,")),
        placed(2, (278, "2021")),
        placed(1, (355, "August 30,")),
        placed(2, (378, "2020")),
        placed(3, (50, "ASSETS")),
        placed(4, (50, "Cash"), (240, "$"), (-300, "11,258"), (340, "$"), (-400, "12,277")),
        figures(5, "Debt due 2027", "(12)", "—"),
        placed(6, (50, "Loans"), (-400, "7")),
        placed(7, (-300, "11,246"), (-400, "12,284")),
    ]
    assert table_text(rows) == [
        "(in millions) | August 29, 2021 | August 30, 2020",
        "--- | --- | ---",
        "ASSETS",
        "Cash | $11,258 | $12,277",
        "Debt due 2027 | (12) | —",
        "Loans |  | 7",
        "| 11,246 | 12,284",
    ]


def test_names_left_of_the_figures_are_of_their_columns() -> None:
    """Lines of names that are not in line with the figures, and years above two columns each."""
    rows = [
        placed(0, (315, "2021"), (515, "2020")),
        placed(1, (255, "Own"), (345, "Lease Land"), (455, "Own"), (545, "Lease Land")),
        placed(2, (250, "Land"), (345, "and more"), (450, "Land"), (545, "and more")),
        *(figures(n, "Canada", "89", "16", "105", "12") for n in range(3, 6)),
    ]
    assert table_text(rows)[0] == (
        "| 2021 Own Land | 2021 Lease Land and more | 2020 Own Land | 2020 Lease Land and more"
    )


def test_each_part_of_a_divided_table_says_its_section() -> None:
    """Behind the head: a row without it could be of any product."""
    sections = [
        [placed(40 * n, (50, name)), *(figures(40 * n + k, f"Town {k}", "1,817", "12") for k in range(1, 40))]
        for n, name in enumerate(["STELARA", "Others"])
    ]
    head = [placed(-2, (50, "(in millions)")), placed(-1, (-300, "2021"), (-400, "2020"))]
    lines = [*head, *sections[0], *sections[1]]
    parts = [chunk.text.split("\n") for chunk in chunks(blocks(lines), count)]
    assert len(parts) > 2
    for part in parts:
        assert part[:2] == ["(in millions) | 2021 | 2020", "--- | --- | ---"], part[:4]
        assert part[2] in {"STELARA", "Others"}, part[:4]


def test_a_year_above_several_columns_is_part_of_each_name() -> None:
    """A caption above all of them is not, nor the title of the table."""
    rows = [
        placed(0, (150, "Balances of the whole company at the end")),
        placed(1, (-312, "2021"), (-512, "2020")),
        placed(2, (-262, "Gross"), (-362, "Net"), (-462, "Gross"), (-562, "Net")),
        placed(3, (50, "Brands"), (-260, "837"), (-360, "637"), (-460, "976"), (-560, "789")),
        placed(4, (50, "Other"), (-260, "571"), (-360, "334"), (-460, "623"), (-560, "396")),
    ]
    assert table_text(rows) == [
        "Balances of the whole company at the end",
        "| 2021 Gross | 2021 Net | 2020 Gross | 2020 Net",
        "--- | --- | --- | --- | ---",
        "Brands | 837 | 637 | 976 | 789",
        "Other | 571 | 334 | 623 | 396",
    ]


def test_tables_of_other_columns_have_their_own_heads() -> None:
    rows = [
        placed(0, (-300, "2021"), (-400, "2020")),
        figures(1, "Sales", "10,000,000,000", "20,000,000,000"),
        figures(2, "Costs", "30,000,000,000", "40,000,000,000"),
        placed(3, (-260, "Mine"), (-300, "Ours"), (-360, "Yours")),
        placed(4, (50, "Ships"), (-260, "1"), (-300, "2"), (-360, "3")),
        placed(5, (50, "Boats"), (-260, "4"), (-300, "5"), (-360, "6")),
    ]
    found = table_text(rows)
    assert found[0] == "| 2021 | 2020"
    assert found[4:6] == ["| Mine | Ours | Yours", "--- | --- | --- | ---"]


def test_a_label_that_is_set_higher_stands_with_its_figures() -> None:
    rows = [
        placed(0, (50, "Charges")),
        placed(0.7, (-300, "77"), (-400, "14")),
        figures(2, "Costs", "1", "3"),
    ]
    assert table_text(rows) == ["Charges | 77 | 14", "Costs | 1 | 3"]


def test_lines_whose_places_are_not_known_stay_as_they_are() -> None:
    rows = [replace(figures(n, "Sales of ice", "1", "2"), words=()) for n in range(3)]
    assert table_text(rows) == ["Sales of ice 1 2"] * 3


def told(lines: Sequence[Line]) -> list[str]:
    return [chunk.text for chunk in chunks(blocks(lines), count)]


def test_each_piece_of_a_long_table_says_head_and_unit() -> None:
    """And none ends in a caption of the rows behind it."""
    head = [placed(0, (50, "(in millions)")), placed(1, (-300, "2021"), (-400, "2020"))]
    rows = [
        placed(n, (50, "Assets of this part")) if n % 9 == 0 else figures(n, f"Item {n}x", "1,204", "987")
        for n in range(2, 56)
    ]
    pieces = told([*head, *rows])
    assert len(pieces) > 1
    assert all(piece.startswith("(in millions) | 2021 | 2020\n--- | --- | ---\n") for piece in pieces)
    assert all(piece.endswith("| 1,204 | 987") for piece in pieces)
