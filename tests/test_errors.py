"""The tree of problems: every one named, with a status that fits."""

import http
import re
from collections import Counter

import pytest

from app import errors
from app.errors import (
    BadInput,
    IbidError,
    InvalidField,
    ModelError,
    RetrievalError,
    StartError,
    Unavailable,
    kinds,
    problem,
)

KINDS = [kind for kind in kinds() if kind.__module__ == errors.__name__]
"""The tree itself, without what a client or a command adds for its own use."""
SENT = [kind for kind in KINDS if not issubclass(kind, (RetrievalError, StartError))]
"""Those that can become a response."""


def test_slugs_name_one_problem_each() -> None:
    """Or what is kept as a slug would come back as another."""
    assert [slug for slug, times in Counter(kind.slug for kind in KINDS).items() if times > 1] == []


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.slug)
def test_a_problem_is_named(kind: type[IbidError]) -> None:
    """A slug of small letters, a title of its own that is no sentence, a docstring."""
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", kind.slug)
    assert "title" in vars(kind)
    assert kind.__doc__
    assert kind.title[0].isupper()
    assert not kind.title.endswith(".")


@pytest.mark.parametrize("kind", SENT, ids=lambda kind: kind.slug)
def test_a_status_is_one_of_https(kind: type[IbidError]) -> None:
    """4xx where the caller can mend it; the model's are 502 to 504."""
    assert 400 <= http.HTTPStatus(kind.status) < 600
    assert not issubclass(kind, BadInput) or kind.status < 500
    assert not issubclass(kind, ModelError) or kind.status in (502, 503, 504)


def test_without_a_detail_the_title_is_told() -> None:
    """A problem always says something."""
    assert str(Unavailable()) == Unavailable().detail == Unavailable.title
    assert str(Unavailable("Chroma is away")) == "Chroma is away"


def test_a_wait_and_a_field_are_kept() -> None:
    """For Retry-After, and for the `errors` of a 422."""
    assert Unavailable(retry_after=3).retry_after == 3
    assert InvalidField("too long", field="body.message").field == "body.message"
    assert RetrievalError("timeout").reason == "timeout"


@pytest.mark.parametrize("kind", [kind for kind in SENT if kind is not IbidError], ids=lambda kind: kind.slug)
def test_a_kept_slug_is_its_problem_again(kind: type[IbidError]) -> None:
    """With its status, title and detail: so a failed document's row keeps it."""
    again = problem(kind.slug, "why")
    assert type(again) is kind
    assert again.detail == "why"


def test_an_unknown_slug_is_ours() -> None:
    """A newer replica may have written it."""
    assert type(problem("unheard-of", "why")) is IbidError


def test_the_module_draws_the_tree_it_has() -> None:
    """Every class directly under the root stands in the drawing of the docstring."""
    drawn = errors.__doc__ or ""
    roots = [kind.__name__ for kind in KINDS if IbidError in kind.__bases__]
    assert [name for name in roots if name not in drawn] == []
