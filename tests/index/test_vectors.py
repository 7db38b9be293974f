"""How vectors are named and filtered in Chroma; what it does with them is tested in tests/sources."""

import re
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.clients.chroma import Chroma
from app.clients.embedded import REMADE_MOST
from app.domain.document import Part
from app.index.vectors import VectorIndex, collection, where
from tests.fakes.filing import SPACE


@given(st.text(min_size=1, max_size=200), st.booleans())
def test_any_space_has_a_name_that_chroma_takes(space: str, is_global: bool) -> None:
    """3 to 512 of letters, digits, `.`, `_`, `-`, alphanumeric at both ends."""
    name = collection(space, is_global=is_global)
    assert re.fullmatch(r"[a-zA-Z0-9][a-zA-Z0-9._-]{1,510}[a-zA-Z0-9]", name)


@given(st.text(), st.text())
def test_two_spaces_never_share_a_collection(one: str, other: str) -> None:
    """Also where their letters are the same but for marks."""
    names = [collection(space, is_global=True) for space in (one, other)]
    assert (names[0] == names[1]) == (one == other)


def test_global_and_session_vectors_are_kept_apart() -> None:
    """Two collections a space."""
    assert collection("m@8", is_global=True).startswith("ibid-global-m-8-")
    assert collection("m@8", is_global=False).startswith("ibid-sessions-m-8-")


@pytest.mark.parametrize(
    ("part", "filter_"),
    [
        pytest.param(Part("t"), {"tenant": "t"}, id="global"),
        pytest.param(
            Part("t", "ann", "s"),
            {"$and": [{"tenant": "t"}, {"owner": "ann"}, {"session": "s"}]},
            id="session",
        ),
    ],
)
def test_a_part_is_filtered_whole(part: Part, filter_: dict[str, object]) -> None:
    """Every word of its key, by equality."""
    assert where(part) == filter_


class Engine:
    """Stands for Chroma."""

    def __init__(self, vectors: int, *, embedded: bool = True) -> None:
        self.vectors = vectors
        self.embedded = embedded
        self.renewed = 0

    async def beat(self) -> None:
        """Well."""

    async def count(self, collection: str) -> int:
        """Half of them in each."""
        return self.vectors // 2

    async def renew(self) -> None:
        """Once more."""
        self.renewed += 1


@pytest.mark.parametrize(
    ("holdings", "vectors", "renewed", "left"),
    [
        pytest.param({"documents", "answers"}, 1_000, 1, set(), id="documents went"),
        pytest.param({"answers"}, 1_000, 0, set(), id="others went"),
        pytest.param(
            {"documents", "votes"}, 2 * REMADE_MOST, 0, {"documents"}, id="too many to be without it"
        ),
        pytest.param({"chroma"}, 2 * REMADE_MOST, 0, {"chroma"}, id="still too many"),
        pytest.param({"chroma"}, 1_000, 1, set(), id="no longer"),
    ],
)
async def test_files_are_made_anew_when_documents_went(
    holdings: set[str], vectors: int, renewed: int, left: set[str]
) -> None:
    """While they fill again every part can be searched exactly without; else it is said what is left."""
    engine = Engine(vectors)
    assert set(await VectorIndex(cast(Chroma, engine), SPACE).compact(holdings)) == left
    assert engine.renewed == renewed


@pytest.mark.parametrize("embedded", [True, False])
def test_a_servers_files_are_its_own(embedded: bool) -> None:
    """Ours are those of the embedded one."""
    assert VectorIndex(cast(Chroma, Engine(1, embedded=embedded)), SPACE).external is not embedded
