"""Lines are values."""

from app.intake.line import Style


def test_lines_set_alike_share_a_style() -> None:
    """Type that looks the same is the same, so that it can be counted."""
    assert len({Style(10.0, bold=True), Style(10.0, bold=True), Style(10.0)}) == 2
