"""How many entries a section shows."""

from app.answering.projects import Choice, Section


def test_a_fixed_section_does_not_listen() -> None:
    """Where a profile gives no most, top_k has no say: "Last 5 Conversations" are five."""
    fixed = Section("code", Choice.NEAREST, 5, "### Code", (), noun="code", note="{count}")

    assert [fixed.wanted(top_k) for top_k in (None, 1, 40)] == [5, 5, 5]
