"""Kinds of chunks: what only names what is elsewhere, and covers of forms."""

import pytest

from app.ingest.kinds import is_cover, listing_kind
from app.types import ChunkKind
from tests.fakes.lines import line

CONTENTS = (
    "PART I\nItem 1. Business | 3\nItem 1A. Risk Factors ..... 9\nItem 2. Properties 19\nItem 3. Claims 19"
)
PFLICHTEN = "Inhalt\nEinleitung 1\nGrundlagen der Geometrie 4\nMannigfaltigkeiten 17\nLösungen der Übungen 88"
EXHIBITS = (
    "3.1 Articles of Incorporation of Ferry Corporation\n3.2 Bylaws of Ferry Corporation\n"
    "10.1* 2019 Incentive Plan 10-K 9/2/2012\n10.2* Executive Health Plan, filed as Exhibit 10.1 for 2012"
)
CONTRACT = (
    "4.1 The purpose of the plan is to give its members what the first plan cannot give due to the limits.\n"
    "4.2 A member will be entitled to a benefit whether or not the member has paid anything into the plan.\n"
    "4.3 Nothing in this plan gives a member the right to be employed by the company for any length of time."
)


@pytest.mark.parametrize("text", [CONTENTS, PFLICHTEN, EXHIBITS], ids=["contents", "german", "exhibits"])
def test_what_names_other_pages_or_files_is_a_listing(text: str) -> None:
    assert listing_kind(text, 100) is ChunkKind.LISTING


@pytest.mark.parametrize(
    "text",
    [
        CONTRACT,
        "Sales | 3\nCosts | 90\nTaxes | 12\nDebt | 40\nCash | 7",
        "Sales 2,019 3\nCosts 2,119 9\nTaxes 2,219 12\nDebt 2,319 40",
        "In 2019 there were 4 ferries on page 3.\nThey sank in 2020, of which page 9 tells.",
    ],
    ids=["contract", "falling", "figures", "prose"],
)
def test_what_says_something_itself_is_none(text: str) -> None:
    assert listing_kind(text, 100) is ChunkKind.TEXT


def test_a_page_of_captions_in_brackets_is_a_cover() -> None:
    fields = ["Ferry Corporation", "(Exact name)", "Oslo", "(Place)", "12", "(Number of ships)"]
    assert is_cover(line(text, row=n) for n, text in enumerate(fields))
    assert not is_cover(line(text, row=n) for n, text in enumerate(["Ferry Corporation", "(a) It sails."]))
