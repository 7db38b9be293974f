"""Gold spans against what was packed: counted in tokens of the text, through a service of its own."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.spans import Text, measure, scores, spanned, table, told

WORDS = "Bees fly far. Boats sail far. Bees fly far."


def tokens(*numbers: int) -> frozenset[tuple[str, int]]:
    """Of a text called t."""
    return frozenset(("t", n) for n in numbers)


def test_figures_count_what_both_hold() -> None:
    """Recall of the gold, precision of what is packed, and both together."""
    found = scores(tokens(1, 2, 3, 4), tokens(3, 4, 5, 6, 7))
    assert found == {"recall": 2 / 5, "precision": 2 / 4, "iou": 2 / 7}
    assert scores(frozenset(), tokens(1)) == {"recall": 0, "precision": 0, "iou": 0}


@given(st.frozensets(st.integers(0, 30)), st.frozensets(st.integers(0, 30), min_size=1))
def test_no_figure_is_more_than_its_parts(packed: frozenset[int], gold: frozenset[int]) -> None:
    """The intersection over union is below both others; packing the gold alone is perfect."""
    found = scores(tokens(*packed), tokens(*gold))
    assert 0 <= found["iou"] <= min(found["recall"], found["precision"]) <= 1
    assert set(scores(tokens(*gold), tokens(*gold)).values()) == {1.0}


def test_a_token_counts_where_it_begins() -> None:
    """Spans that share no character share no token."""
    text = Text("t", "", WORDS)
    first, second = text.tokens(0, 13), text.tokens(13, 29)
    assert first
    assert second
    assert not first & second
    assert first | second | text.tokens(29, len(WORDS)) == text.tokens(0, len(WORDS))


@pytest.mark.parametrize(
    ("share", "start"), [pytest.param(0.0, 0, id="at the beginning"), pytest.param(0.9, 30, id="at the end")]
)
def test_a_passage_is_found_where_it_stands(share: float, start: int) -> None:
    """White space does not matter; of places that read the same the near one."""
    text = Text("t", "", WORDS.replace(" ", "\n\n", 1))
    assert text.found(" Bees  fly\nfar.", share) == text.tokens(start + (start > 0), start + 14)


def test_a_passage_that_is_not_in_its_text_is_told() -> None:
    """Figures without it would be wrong."""
    with pytest.raises(SystemExit, match="t: a passage does not stand"):
        Text("t", "", WORDS).found("Birds", 0.0)


def folder_of(folder: Path) -> Path:
    """Two texts, with a question that names a span of the first."""
    bees = (
        "Bees live in hives. " * 40 + "The oldest hive of the island stands behind the mill. " + "Yes. " * 9
    )
    rows = [{"id": "bees", "text": bees}, {"id": "boats", "title": "Boats", "text": "Boats sail at seven."}]
    start = bees.index("The oldest")
    asked = {"id": "q", "scope": "bees", "text": "Where does the oldest hive of the island stand?"}
    spanned_rows = [{**asked, "meta": {"spans": [[start, start + 53, "The oldest"]]}}]
    for name, lines in (("corpus", rows), ("queries_dev", spanned_rows)):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    return folder


def test_folders_are_known_by_their_shape(tmp_path: Path) -> None:
    """By the spans of their questions."""
    assert spanned(folder_of(tmp_path))
    (tmp_path / "queries_dev.jsonl").write_text(json.dumps({"id": "q", "text": "Why?", "rel": {"bees": 1}}))
    assert not spanned(tmp_path)


async def test_what_a_service_packs_is_measured(tmp_path: Path) -> None:
    """All of a gold span that is found and fits, among other words; what was embedded is kept."""
    found = await measure(folder_of(tmp_path), tmp_path / "vectors", shared=True)
    assert found["metrics"]["recall"] == 1
    assert 0 < found["metrics"]["precision"] < 1
    assert found["metrics"]["tokens"] < found["budget"]
    assert (tmp_path / "vectors" / "embeddings.sqlite").exists()


def test_a_run_is_a_line_of_the_table() -> None:
    """With its intervals."""
    row = {"recall": 1.0, "precision": 0.25, "iou": 0.25, "tokens": 40.0}
    shown = table([told("set", "global", {"q": row})])
    assert [list(column.cells) for column in shown.columns] == [
        ["global"], ["1.000 [1.000 1.000]"], [".250 [.250 .250]"], [".250 [.250 .250]"], ["40"],
    ]  # fmt: skip
