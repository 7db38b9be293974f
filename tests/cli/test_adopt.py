"""What `ibid adopt` says; what it does: tests/integration/test_adopt.py."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from app.cli import adopt
from app.cli.adopt import lines
from app.errors import RetrievalError
from app.services.adopt import Older, Report, Taken
from tests.cli.conftest import Ibid, Running

REPORT = Report(
    "model@8",
    [Taken("public.code_index", 1_200, 30, 2, 1), Taken("public.conversation_index")],
    [Taken("memory_raw", embedded=3, home="memory_raw_ibid")],
    Older(2, 1),
)

SAID = "1,200 with the vectors they have, 30 embedded anew, 2 without text left alone, 1 changed meanwhile"


def test_a_line_a_table_and_a_collection() -> None:
    """With what is not zero."""
    assert list(lines(REPORT)) == [
        "Are in model@8:",
        f"  public.code_index: {SAID}",
        "  public.conversation_index: nothing to do",
        "  memory_raw: 3 embedded anew into memory_raw_ibid",
        "  public.chat_log: 2 turns of older tools, read as they are",
        "  public.vantage_answer_trace: 1 answer of older tools, as they are",
    ]
    assert next(lines(REPORT, dry=True)) == "Would be in model@8:"


def test_what_was_written_all_the_while_is_told(ibid: Ibid, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 1, with what to do."""

    async def adopted(*_arguments: object, dry: bool) -> Report:
        return REPORT

    monkeypatch.setattr(adopt, "adopted", adopted)
    done = ibid("adopt", "--json")
    assert (done.code, done.err) == (1, "1 row changed meanwhile, by another tool: run ibid adopt again.\n")
    assert json.loads(done.out)["collections"][0]["home"] == "memory_raw_ibid"


def test_what_qdrant_has_yet_to_take_is_told(ibid: Ibid, monkeypatch: pytest.MonkeyPatch) -> None:
    """The record has everything, so that it is no failure."""

    async def adopted(*_arguments: object, dry: bool) -> Report:
        return Report("model@8", waiting="qdrant has yet to take 3 entries")

    monkeypatch.setattr(adopt, "adopted", adopted)
    done = ibid("adopt")
    said = "qdrant has yet to take 3 entries: the service goes on with it when it runs.\n"
    assert (done.code, done.err) == (0, said)


@pytest.mark.parametrize(
    ("reason", "said"),
    [("embedding", "the embedding model does not answer"), ("timeout", "Qdrant does not answer")],
)
def test_a_run_that_breaks_off_says_why(
    ibid: Ibid, monkeypatch: pytest.MonkeyPatch, reason: str, said: str
) -> None:
    """And that nothing was lost."""

    @asynccontextmanager
    async def opened(_settings: object) -> AsyncIterator[None]:
        raise RetrievalError(reason)
        yield

    monkeypatch.setattr(adopt, "open_adopt", opened)
    done = ibid("adopt")
    assert (done.code, done.err) == (1, f"ibid: {said}; run it again: what is done is kept\n")


def test_on_a_fresh_folder_there_is_nothing_to_do(ibid: Ibid) -> None:
    """And that is no failure."""
    done = ibid("adopt", "--json")
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert [each["embedded"] + each["kept"] for each in told["tables"]] == [0, 0]
    assert (told["collections"], told["dry_run"]) == ([], False)


def test_a_service_on_the_folder_is_in_the_way(held: Ibid, service: Running) -> None:
    """Refused plainly, with who it is."""
    done = held("adopt")
    assert done.code == 1
    assert f"in use by process {service.process.pid}" in done.err
