"""Reference texts as points, and points of any collection as passages."""

from app.clients.points import Point
from app.index.referred import REFERENCE, passage, point
from app.text.labels import is_label
from app.types import Scope
from tests.fakes.recollections import reference


def test_what_is_shown_lies_at_the_top() -> None:
    """Kind, origin, address and tags where any tool looks for them, all of the metadata beside; no blanks."""
    metadata = {"kind": "page", "tags": ["a"], "url": "", "more": {"x": 1}}
    wrote = point(Scope(tenant="t"), reference("words", metadata=metadata), b"", "s")
    assert wrote.payload["metadata"] == metadata
    assert (wrote.payload["kind"], wrote.payload["tags"], wrote.payload["tenant"]) == ("page", ["a"], "t")
    assert not {"url", "title"} & wrote.payload.keys()


def test_metadata_cannot_say_whose_a_text_is() -> None:
    """Its tenant, its text and its id are not for the writer's metadata to set."""
    forged = {"tenant": "other", "text": "forged", "id": "x", "tokens": 0}
    wrote = point(Scope(tenant="t"), reference("words", metadata=forged), b"", "s")
    assert (wrote.payload["tenant"], wrote.payload["text"], wrote.payload["tokens"]) == ("t", "words", 1)


def test_a_point_of_nothing_but_text_is_a_passage() -> None:
    """Everything else has a value that says so."""
    found = passage("a [strange] #name", Point("7", {"chunk": "words"}), "k3v9q2ax", None)
    assert (found.id, found.text, found.title) == ("a [strange] #name/7", "words", "")
    assert is_label(found.label)
    assert found.fields == {
        "id": "7",
        "metadata": None,
        "collection": "a [strange] #name",
        "kind": REFERENCE,
        "origin": "",
        "tags": "",
        "url": None,
    }
