"""Rows of code: what they are called, and what a file is known by."""

import hashlib
import uuid
from dataclasses import replace

import pytest

from app.db.code import ALONE, CodeEntry, CodeFile, CodeRow, Cut, chunk_ids, keeps, row_id
from app.types import Scope

HERE = Scope("acme", project="hello")
ROW = CodeRow("app/hello.py", "python", "pass")


def test_metadata_have_every_name() -> None:
    """Null where there is none: readers need not ask."""
    assert Cut("pass", 3, 4, function_name="greet").metadata() == {
        "function_name": "greet",
        "class_name": None,
        "signature": None,
        "heading": None,
        "start_line": 3,
        "end_line": 4,
    }


def test_a_file_is_known_by_the_hash_of_its_utf8() -> None:
    """As any tool computes it."""
    assert CodeFile("a.txt", "Grüße\n").sha256 == hashlib.sha256("Grüße\n".encode()).hexdigest()


def test_a_row_written_again_is_the_same_row() -> None:
    """With an id by its id, without one by path and words."""
    assert row_id(HERE, ROW) == row_id(HERE, replace(ROW, language=None))
    assert row_id(HERE, replace(ROW, id="a")) == row_id(HERE, replace(ROW, id="a", chunk_text="other"))
    assert uuid.UUID(row_id(HERE, ROW)).version == 5


@pytest.mark.parametrize(
    "scope",
    [
        pytest.param(replace(HERE, tenant="other"), id="tenant"),
        pytest.param(replace(HERE, owner="ada"), id="owner"),
        pytest.param(replace(HERE, project="bye"), id="project"),
    ],
)
def test_elsewhere_it_is_another_row(scope: Scope) -> None:
    """Whoever names it the same."""
    assert row_id(scope, replace(ROW, id="a")) != row_id(HERE, replace(ROW, id="a"))


def test_a_row_by_itself_has_a_hash_like_no_file_s() -> None:
    """Of all that is written of it, its vector too: our own writing never looks like another tool's."""
    one = CodeEntry("id", ROW, b"\0\0\x80?")
    others = (replace(one, row=replace(ROW, chunk_metadata={"a": 1})), replace(one, embedding=b"\0\0\0?"))

    assert one.sha256.startswith(ALONE)
    assert len({each.sha256 for each in (one, *others, replace(one))}) == 3


def test_only_rows_of_the_default_tenant_keep_a_given_id() -> None:
    """Others could be in the way of a name that can be guessed."""
    scopes = (Scope(project="hello"), HERE, Scope("default", "ada", "ada"))

    assert [keeps(scope) for scope in scopes] == [True, False, False]


def test_an_id_is_no_text() -> None:
    """A row called what another says is not that one."""
    assert row_id(HERE, CodeRow("", None, "a")) != row_id(HERE, CodeRow("", None, "b", id="a"))


def test_equal_chunks_of_a_file_have_ids_of_their_own() -> None:
    """And keep them while others come and go around them."""
    one, other = Cut("pass", 1, 1), Cut("x = 1", 2, 2)

    first, between, second = chunk_ids(HERE, "a.py", [one, other, replace(one, start_line=3)])

    assert len({first, between, second}) == 3
    assert chunk_ids(HERE, "a.py", [one, one]) == [first, second]
    assert chunk_ids(HERE, "b.py", [one]) != [first]
