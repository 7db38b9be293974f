"""How rows look to an asker."""

from dataclasses import replace
from pathlib import Path

import pytest

from app.db.documents import DocumentStore, is_id
from app.db.pool import Pool
from app.text.labels import distinct
from tests.fakes.uploads import ALICE, TENANT, ready, upload

PAGE = 99


@pytest.mark.parametrize(
    ("text", "could"),
    [
        pytest.param("01890a5d-ac96-774b-bcce-b302099a8057", True, id="uuid"),
        pytest.param("01890A5D-AC96-774B-BCCE-B302099A8057", False, id="not as we write it"),
        pytest.param("01890a5d-ac96-774b-bcce-b302099a8057\n", False, id="line break"),
        pytest.param("1", False, id="short"),
        pytest.param("", False, id="empty"),
    ],
)
def test_is_id(text: str, could: bool) -> None:
    """Only what `new_id` can have made."""
    assert is_id(text) is could


async def test_labels_are_those_of_search(pool: Pool, tmp_path: Path) -> None:
    """The record and `label.distinct` agree on every document in reach, also where names collide twice."""
    for n, name in enumerate(("a.pdf", "a-2.pdf", "b.pdf", "A.PDF")):
        await ready(pool, TENANT, upload(tmp_path, f"g{n}", filename=name, session_id=None))
    for n, name in enumerate(("a.pdf", "a-3.pdf", "c.pdf")):
        await ready(pool, ALICE, upload(tmp_path, f"s{n}", filename=name))
    found, _ = await DocumentStore(pool).list(ALICE, cursor=None, limit=PAGE)
    plain, _ = await DocumentStore(pool).list(replace(ALICE, session_id=None), cursor=None, limit=PAGE)
    names = {document.id: document.label for document in plain}
    oldest_first = sorted(found, key=lambda document: document.id)
    own = [document for document in oldest_first if document.session_id]
    shared = [document for document in oldest_first if not document.session_id]
    expected = distinct([names[one.id] for one in own], [names[one.id] for one in shared])
    assert ([one.label for one in own], [one.label for one in shared]) == expected
    assert len({one.label for one in found}) == len(found)


async def test_a_page_shows_the_same_labels_as_the_whole(pool: Pool, tmp_path: Path) -> None:
    """A label does not depend on what else the page shows."""
    for n in range(3):
        await ready(pool, TENANT, upload(tmp_path, f"g{n}", filename=f"{n}.pdf", session_id=None))
        await ready(pool, ALICE, upload(tmp_path, f"s{n}", filename=f"{n}.pdf"))
    store = DocumentStore(pool)
    whole, _ = await store.list(ALICE, cursor=None, limit=PAGE)
    single = [await store.get(ALICE, document.id) for document in whole]
    assert single == whole
