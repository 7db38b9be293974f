"""Vectors kept on disk: embedded once, told apart by space, use and text."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from app.errors import RetrievalError, StartError
from app.models.memo import NAME, Memo, key, pages
from app.types import Embedding


@dataclass
class Counting:
    """An embedder whose vectors tell what was embedded, and as what."""

    space: str = "m@3"
    asked: list[str] = field(default_factory=list)
    fails: bool = False

    async def query(self, text: str) -> Embedding:
        """One query."""
        return (await self.passages([f"?{text}"]))[0]

    async def passages(self, texts: Sequence[str]) -> list[Embedding]:
        """Texts."""
        if self.fails:
            raise RetrievalError("embedding")
        self.asked += texts
        return [f"{self.space}:{text}".encode() for text in texts]


async def test_what_was_embedded_once_is_not_embedded_again(tmp_path: Path) -> None:
    """Not by the next run either; the order stays, and a text given twice is embedded once."""
    with pages(tmp_path / "made") as known:
        await Memo(Counting(), known).passages(["a", "b"])
    embedder = Counting()
    with pages(tmp_path / "made") as known:
        memo = Memo(embedder, known)
        found = await memo.passages(["c", "b", "c", "a"])
        asked = [await memo.query("q"), await memo.query("q")]

    assert found == [b"m@3:c", b"m@3:b", b"m@3:c", b"m@3:a"]
    assert asked == [b"m@3:?q"] * 2
    assert embedder.asked == ["c", "?q"]
    assert memo.space == "m@3"


async def test_another_model_and_another_use_are_other_vectors(tmp_path: Path) -> None:
    """A text as a query is not the text as a passage, nor that of another space."""
    with pages(tmp_path) as known:
        await Memo(Counting("m@3"), known).passages(["a"])
        assert await Memo(Counting("m@3"), known).query("a") == b"m@3:?a"
        assert await Memo(Counting("n@3"), known).passages(["a"]) == [b"n@3:a"]
    assert len({key("m", "query", "a"), key("m", "passage", "a"), key("n", "query", "a")}) == 3


async def test_a_failure_is_passed_on_and_nothing_is_kept(tmp_path: Path) -> None:
    """The next time it is asked again."""
    embedder = Counting(fails=True)
    with pages(tmp_path) as known:
        memo = Memo(embedder, known)
        with pytest.raises(RetrievalError):
            await memo.passages(["a"])
        embedder.fails = False
        assert await memo.passages(["a"]) == [b"m@3:a"]


async def test_lone_surrogates_have_a_key(tmp_path: Path) -> None:
    """Texts come from anywhere."""
    with pages(tmp_path) as known:
        assert len(key("m", "query", "\ud800")) == 32
        assert known.read([b"?"]) == [None]


def test_a_file_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    """Something else of that name, or a folder that cannot be made."""
    (tmp_path / NAME).write_text("not a database, though long enough to be taken for one" * 100)
    with pytest.raises(StartError, match=NAME), pages(tmp_path):
        pass
    with pytest.raises(StartError), pages(tmp_path / NAME / "below"):
        pass
