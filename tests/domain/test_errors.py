"""The tree of problems."""

from collections import Counter

import pytest

from app.domain.errors import IbidError, InvalidField, PdfEncrypted, Unavailable, kinds, problem


@pytest.mark.parametrize("kind", [PdfEncrypted, Unavailable, InvalidField])
def test_a_kept_slug_is_its_problem_again(kind: type[IbidError]) -> None:
    """With its status, title and detail."""
    again = problem(kind.slug, "why")
    assert type(again) is kind
    assert again.detail == "why"


def test_an_unknown_slug_is_ours() -> None:
    """A newer replica may have written it."""
    assert type(problem("unheard-of", "why")) is IbidError


def test_slugs_name_one_problem_each() -> None:
    """Or what is kept as a slug would come back as another."""
    assert [slug for slug, times in Counter(kind.slug for kind in kinds()).items() if times > 1] == []
