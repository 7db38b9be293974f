"""What any project can show."""

from app.answering.projects import SHOWN, code, entry, talk


def test_a_short_summary_stands_in_for_a_long_one() -> None:
    """Only where there is none."""
    assert entry(SHOWN, {"summary_short": "brief"}) == "- **Summary:** brief"
    assert entry(SHOWN, {"summary_short": "brief", "summary_detailed": "long"}) == "- **Summary:** long"


def test_requests_may_ask_for_more() -> None:
    """Up to forty; the defaults are the profile's."""
    assert [code(8).wanted(None), code(8).wanted(20), talk(5).wanted(100)] == [8, 20, 40]
