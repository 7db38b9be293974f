"""The policy's data files."""

from app.vantage.lexicon import entries, phrases, sections


def test_a_table_is_read_by_heading_and_name() -> None:
    """Lines that go on are joined, comments and empty lines are none."""
    found = {heading: entries(lines) for heading, lines in sections("answers.txt").items()}
    assert {"hedges", "contact", "refusal, English", "refusal, French"} <= set(found)
    assert "as far as i know" in found["hedges"]["en"]
    assert not any(
        phrase.startswith("#") or not phrase
        for table in found.values()
        for row in table.values()
        for phrase in row
    )


def test_phrases_under_none_keep_others_from_being_found() -> None:
    """`may i` asks, and hedges nothing."""
    table = phrases(entries(["hedge: may", "none: may i, may we"]))
    assert table.names("It may rain. May I come in?") == {"hedge"}
    assert table.names("May we come in?") == set()
