"""Structural rules that a machine can check: settings, broad excepts, wiring, the page of problems; and
that every store and source that keeps something of a person is among the holdings."""

import ast
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import SimpleNamespace
from typing import cast

import pytest

from app import errors, retrieval
from app.answering.recorder import Recorder
from app.db.pool import Pool
from app.db.users import TABLES
from app.errors import IbidError, kinds
from app.retrieval.source import IndexedSource
from app.services.users import UserService
from app.settings import CacheSettings, QdrantSettings, Settings
from app.types import Scope
from app.wiring import Resources, user_service
from tests.fakes.answering import FakeLog
from tests.fakes.holdings import NAMES_ONLY, FakeFiles

ROOT = Path(__file__).parents[1]
MODULES = sorted(
    path.relative_to(ROOT) for path in (ROOT / "app").rglob("*.py") if path.name != "__init__.py"
)

BROAD = {"app/problems.py", "app/api/middleware.py", "app/api/sse.py"}
"""`except Exception` stands in the 500 handler, `problems.foreseen` and the stream's last resort only."""


@cache
def tree(module: Path) -> ast.Module:
    return ast.parse((ROOT / module).read_text(encoding="utf-8"))


def nodes(module: Path, *kinds_of: type[ast.AST]) -> Iterator[ast.AST]:
    """Its nodes of these kinds."""
    return (node for node in ast.walk(tree(module)) if isinstance(node, kinds_of))


def test_nothing_is_swallowed_broadly() -> None:
    """`except Exception` and a bare `except` stand in two places only, unless they raise again."""
    broad = set()
    for module in MODULES:
        for node in nodes(module, ast.ExceptHandler):
            assert isinstance(node, ast.ExceptHandler)
            caught = ast.unparse(node.type) if node.type else "Exception"
            again = isinstance(node.body[-1], ast.Raise) and node.body[-1].exc is None
            if re.search(r"\bException\b", caught) and not again:
                broad.add(str(module))
    assert broad <= BROAD


def test_the_environment_is_read_in_one_file() -> None:
    """app/settings.py; everybody else is handed the settings."""
    found = set()
    for module in MODULES:
        for node in nodes(module, ast.Attribute, ast.Name, ast.ImportFrom):
            text = ast.unparse(node)
            if re.fullmatch(
                r"os\.(environb?|getenvb?|putenv)|from os import .*env.*|dotenv_values|load_dotenv", text
            ):
                found.add(str(module))
    assert found <= {"app/settings.py"}


def test_docstrings_name_what_is_there() -> None:
    """`module.Name`: a module of that name defines or imports it."""
    known: defaultdict[str, set[str]] = defaultdict(set)
    named = set()
    for module in MODULES:
        for node in ast.walk(tree(module)):
            match node:
                case ast.ClassDef(name=name) | ast.Name(id=name, ctx=ast.Store()) | ast.alias(name=name):
                    known[module.stem].add(name)
                case ast.Expr(value=ast.Constant(value=str(text))):
                    named |= {(str(module), *name) for name in re.findall(r"`([a-z_]+)\.([A-Z]\w*)", text)}
    wrong = [f"{where}: {module}.{name}" for where, module, name in named if name not in known[module]]
    assert sorted(wrong) == []


def test_the_page_of_problems_lists_the_tree() -> None:
    """Every slug with its status and when it comes, in the words of its class; and nothing else."""
    page = (ROOT / "docs" / "problems.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"(?m)^\| (`[a-z-]+` \| \w+) \| (.+) \|$", page))
    told = {}
    for kind in kinds():
        if kind.__module__ == errors.__name__:
            status = "none" if kind.slug in {"retrieval", "start"} else kind.status
            when = " ".join((kind.__doc__ or "").split("\n\n")[0].split())
            told[f"`{kind.slug}` | {status}"] = "" if kind is IbidError else when
    assert set(rows) == set(told)
    assert [row for row, text in rows.items() if not text.startswith(told[row])] == []
    assert [row for row, text in rows.items() if len(text.rpartition(" | ")[2]) < 10] == []


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
