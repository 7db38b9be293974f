"""Code and knowledge of a project, as those who keep them see them."""

import asyncio
from dataclasses import dataclass, field, replace

import pytest

from app.db.code import CodeFile, CodeFiled, CodeOutcome, CodeRow, CodeStore
from app.db.pool import Pool
from app.db.projects import Knowledge, KnowledgeChange, KnowledgeNote
from app.errors import Forbidden, InvalidField, Missing, Unavailable
from app.ingest.cutter import CodeCutter
from app.services import code as module
from app.services.code import CodeService
from app.services.projects import KnowledgeService
from app.types import Scope
from tests.fakes.answering import Words
from tests.fakes.services import FakeVectors
from tests.fakes.talks import FakeKnowledge

ACME = Scope("acme")
ADDED, CHANGED, UNCHANGED = CodeOutcome
BODY = "    total = sum(value * {0} for value in values if value > {0})\n" * 5
ROWS = "SELECT file_path, chunk_text FROM public.code_index ORDER BY file_path, chunk_text"


def function(name: str) -> str:
    return f"def {name}(values):\n{BODY.format(len(name))}"


def source(*names: str) -> str:
    return "\n\n".join(map(function, names))


@dataclass
class House:
    pool: Pool
    embedder: FakeVectors = field(default_factory=FakeVectors)

    @property
    def service(self) -> CodeService:
        return CodeService(CodeStore(self.pool), self.embedder, CodeCutter())

    async def synced(self, **files: str) -> list[CodeFiled]:
        """Files of the project `hello`, called as they are here, `.py`."""
        given = [CodeFile(f"{name}.py", text) for name, text in files.items()]
        return await self.service.sync(ACME, "hello", given)

    async def paths(self) -> list[str]:
        return [row["file_path"] for row in await self.pool.fetch(ROWS)]


@pytest.fixture
def house(pool: Pool) -> House:
    return House(pool)


async def test_a_file_is_cut_and_kept(house: House) -> None:
    text = source("one", "two")
    [done] = await house.service.sync(ACME, "hello", [CodeFile("a.py", text)])
    listed, after = await house.service.files(ACME, "hello", limit=10)

    assert done == CodeFiled("a.py", ADDED, chunks=2, embedded=2)
    assert [(file.path, file.sha256, file.chunks) for file in listed] == [
        ("a.py", CodeFile("", text).sha256, 2)
    ]
    assert after is None


async def test_the_same_text_again_costs_nothing(house: House) -> None:
    await house.synced(a=source("one"), b=source("two"))
    house.embedder.asked.clear()

    done = await house.synced(a=source("one"), b=source("two"), c=source("three"))

    assert [(each.outcome, each.chunks, each.embedded) for each in done] == [
        (UNCHANGED, 1, 0),
        (UNCHANGED, 1, 0),
        (ADDED, 1, 1),
    ]
    assert len(house.embedder.asked) == 1


async def test_only_chunks_that_changed_are_embedded(house: House) -> None:
    """Those that moved to other lines keep their vectors, and their ids."""
    await house.synced(a=source("one", "two"))
    before = {row["id"] for row in await house.pool.fetch("SELECT id FROM public.code_index")}

    (done,) = await house.synced(a=source("zero", "one", "two"))

    after = {row["id"] for row in await house.pool.fetch("SELECT id FROM public.code_index")}
    assert (done.outcome, done.chunks, done.embedded) == (CHANGED, 3, 1)
    assert before < after


async def test_a_renamed_file_brings_its_vectors(house: House) -> None:
    """As long as the old name is still there; then that is removed."""
    await house.synced(old=source("one", "two"))
    house.embedder.asked.clear()

    (done,) = await house.synced(new=source("one", "two"))
    removed = await house.service.remove_files(ACME, "hello", ["old.py"])

    assert (done.outcome, done.embedded, removed) == (ADDED, 0, 1)
    assert house.embedder.asked == []
    assert await house.paths() == ["new.py", "new.py"]


async def test_two_at_once_do_not_double(house: House) -> None:
    await asyncio.gather(*(house.synced(a=source("one"), b=source("two")) for _ in range(3)))

    assert await house.paths() == ["a.py", "b.py"]


async def test_an_embedder_that_hangs_is_not_waited_for(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.embedder.delay = 60
    monkeypatch.setattr(module, "SLOWEST", 10.0)

    with pytest.raises(Unavailable):
        await house.service.sync(ACME, "hello", [CodeFile("a.py", source("one"))], seconds=0.2)


async def test_what_is_not_there_is_missing(house: House) -> None:
    """To read, and to remove: a user does not remove what the tenant shares."""
    ((name, _),) = await house.service.put(ACME, "hello", [CodeRow("a.py", "python", "pass")])
    ada = replace(ACME, owner="ada", user_id="ada")

    for scope, project, row in ((ACME, "bye", name), (ACME, "hello", "x"), (Scope("other"), "hello", name)):
        with pytest.raises(Missing):
            await house.service.get(scope, project, row)
    with pytest.raises(Missing):
        await house.service.remove(ada, "hello", name)
    assert (await house.service.get(ada, "hello", name)).chunk_text == "pass"
    await house.service.remove(ACME, "hello", name)
    assert await house.paths() == []


async def test_what_is_given_over_http_is_kept_without_its_secrets(house: House) -> None:
    """Of a file and of a row alike; a file that is a secret by its name keeps its names alone."""
    token = "ghp_" + "a1B2" * 9
    await house.synced(config=f'TOKEN = "{token}"\nNAME = "ibid"\n')
    await house.service.sync(ACME, "hello", [CodeFile(".env", "PASSWORD=hunter2\n")])
    facts = {"doc": token, "calls": [token], "line": 1}
    await house.service.put(ACME, "hello", [CodeRow("row.py", "python", f'TOKEN = "{token}"', facts)])

    rows = await house.pool.fetch(ROWS.replace(" FROM", ", chunk_metadata FROM"))
    kept = " ".join(map(str, rows))
    assert token not in kept
    assert "hunter2" not in kept
    assert 'NAME = "ibid"' in kept
    again = await house.service.sync(ACME, "hello", [CodeFile(".env", "PASSWORD=hunter2\n")])
    assert again[0].outcome is UNCHANGED


THN = Scope("acme", project="THN")
ADA = replace(THN, owner="ada", user_id="ada")
ALL = Knowledge("Overview.", "Rules.", (KnowledgeNote("A", "b"),))


@pytest.fixture
def record() -> FakeKnowledge:
    return FakeKnowledge()


@pytest.fixture
def service(record: FakeKnowledge) -> KnowledgeService:
    return KnowledgeService(record, Words().count, 100)


async def test_it_is_the_tenant_s_to_write(service: KnowledgeService) -> None:
    await service.put(THN, ALL)

    assert await service.get(ADA) == ALL
    for asked in (service.put(ADA, ALL), service.merge(ADA, KnowledgeChange()), service.remove(ADA)):
        with pytest.raises(Forbidden):
            await asked
    assert await service.get(THN) == ALL


@pytest.mark.parametrize(
    ("told", "field"),
    [
        (Knowledge("word " * 30), "body.overview"),
        (Knowledge("word " * 9, "word " * 15), "body.rules"),
        (Knowledge(notes=tuple(KnowledgeNote(str(n), "word " * 9) for n in range(3))), "body.notes"),
    ],
    ids=["overview", "rules", "notes"],
)
async def test_it_may_take_a_quarter_of_the_window(
    service: KnowledgeService, record: FakeKnowledge, told: Knowledge, field: str
) -> None:
    """Together; what is too much is refused with the limit and the largest field, and nothing is kept."""
    with pytest.raises(InvalidField, match=r"take \d+ tokens together, and may take 25") as caught:
        await service.put(THN, told)
    assert caught.value.field == field
    assert record.rows == {}


async def test_what_is_added_counts_with_what_is_there(
    service: KnowledgeService, record: FakeKnowledge
) -> None:
    """The largest field that was sent is named; less of what is too much already is taken."""
    record.rows["acme", "THN"] = Knowledge("word " * 18)
    with pytest.raises(InvalidField) as caught:
        await service.merge(THN, KnowledgeChange(notes=(KnowledgeNote("A", "word " * 9),)))
    assert caught.value.field == "body.notes"
    record.rows["acme", "THN"] = Knowledge("word " * 90, "word " * 90)
    assert (await service.merge(THN, KnowledgeChange(rules="word"))).rules == "word"
    with pytest.raises(InvalidField):
        await service.merge(THN, KnowledgeChange(rules="word word"))
