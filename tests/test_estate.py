"""Every store and source that keeps something of a person is among the holdings."""

import ast
import re
from collections.abc import AsyncIterator, Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import SimpleNamespace
from typing import cast

import pytest

from app import retrieval
from app.answering.recorder import Recorder
from app.db.pool import Pool
from app.db.users import NAMES_ONLY, TABLES
from app.retrieval.source import IndexedSource
from app.services.users import UserService
from app.settings import CacheSettings, QdrantSettings, Settings
from app.types import Scope
from app.wiring import Resources, user_service
from tests.fakes.answering import FakeLog
from tests.fakes.holdings import FakeFiles

ROOT = Path(__file__).parents[1]
STATEMENTS = re.compile(r"(?:INSERT INTO|UPDATE|MERGE INTO) ((?:ibid|public)\.\w+)")
SHARED = {
    "ibid.corpus_text": "reference texts are the tenant's",
    "ibid.collection_version": "counts the tenant's writes",
    "ibid.tenant": "names of tenants",
    "ibid.outbox": "ids of what has changed, until the engines have taken it",
    "ibid.engine": "how far the engines are",
    "ibid.space": "embedding models",
    "ibid.collection_home": "names of collections",
    "ibid.project_knowledge": "what is told of a project is the tenant's",
}
"""Tables that say nothing of a person, each with its reason."""
INDEXES = {
    "memories": "with the record",
    "documents": "by a purge job",
    "corpus": "the tenant's",
    **dict.fromkeys(("conversations", "dreams", "code"), "rows of Postgres, with their words"),
}
"""What becomes of each source's index when a person is erased."""


class Memories:
    name = "memories"

    async def export(self, scope: Scope) -> AsyncIterator[Mapping[str, object]]:
        for row in list[Mapping[str, object]]():
            yield row

    async def erase(self, scope: Scope) -> int:
        return 0


def service(pool: Pool, settings: Settings) -> UserService:
    copy = FakeFiles("qdrant", external=settings.qdrant.url is not None)
    qdrant = SimpleNamespace(memories=Memories(), copy=copy, outbox=None)
    parts = SimpleNamespace(
        pool=pool, qdrant=qdrant, chroma_copy=FakeFiles("chroma"), chroma_outbox=None, cache=None
    )
    return user_service(settings, cast(Resources, parts), Recorder(FakeLog()))


def test_all_that_the_record_keeps_of_a_person_is_held(pool: Pool) -> None:
    """A holding for each group of tables, and no group without a holding."""
    holdings = service(pool, Settings(_env_file=None)).holdings

    assert sorted(holdings) == sorted(TABLES)


def test_every_table_that_is_written_is_accounted_for() -> None:
    """Somebody's, so erased and exported; or shared, or a name alone, with the reason. Statements that fill
    in the table's name are covered by the schema (`tests/db/test_users.py`)."""
    known = {table for tables in TABLES.values() for table in tables} | set(NAMES_ONLY) | set(SHARED)
    found = {
        (path.name, table)
        for path in (ROOT / "app").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for table in STATEMENTS.findall(node.value)
    }

    assert {table for _, table in found} & {"ibid.answer", "ibid.memory", "ibid.document"}  # it finds them
    assert sorted((where, table) for where, table in found if table not in known) == []


def test_every_source_is_accounted_for() -> None:
    """By name: a new one must say what becomes of what it keeps of a person."""
    modules = [import_module(each.name) for each in iter_modules(retrieval.__path__, "app.retrieval.")]
    classes = [each for module in modules for each in vars(module).values() if isinstance(each, type)]
    sources = [each for each in classes if issubclass(each, IndexedSource)]
    names = {vars(each)["name"] for each in sources if isinstance(vars(each).get("name"), str)}

    assert names == set(INDEXES)


@pytest.mark.parametrize(
    ("settings", "external"),
    [
        pytest.param(Settings(_env_file=None), ("postgres",), id="embedded"),
        pytest.param(
            Settings(_env_file=None, qdrant=QdrantSettings(url="http://q:6333")),
            ("postgres", "qdrant"),
            id="a server",
        ),
    ],
)
async def test_files_of_servers_are_named(pool: Pool, settings: Settings, external: tuple[str, ...]) -> None:
    receipt = await service(pool, settings).erase(Scope(user_id="ada"))

    assert receipt.external == external
    assert receipt.cached_until is None


async def test_a_shared_cache_is_told_of(pool: Pool) -> None:
    settings = Settings(_env_file=None, cache=CacheSettings(url="redis://127.0.0.1:1"))

    receipt = await service(pool, settings).erase(Scope(user_id="ada"))

    assert receipt.cached_until is not None
    assert (receipt.cached_until - receipt.erased_at).total_seconds() == settings.rag.cache_ttl_seconds
