"""Structural rules that a machine can check: settings, broad excepts, wiring, the page of problems."""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from app import errors
from app.errors import IbidError, kinds

ROOT = Path(__file__).parents[1]
MODULES = sorted(
    path.relative_to(ROOT) for path in (ROOT / "app").rglob("*.py") if path.name != "__init__.py"
)

BROAD = {"app/problems.py", "app/api/sse.py"}
"""`except Exception` stands in the 500 handler and the stream's last resort only."""

SEEDED = (
    "overlay_to_instructions", "is_pure_reentry_greeting", "retrieve_personal_memory", "unified_retrieve",
    "load_latest_vb_desire_profile", "vb_desire_bias_map", "score_personal_hit", "build_system_prompt",
    "build_meta_explanation", "infer_query_tags", "infer_vb_tags", "extract_tag_from_message",
    "quick_persona_refresh", "extract_sd_features", "derive_params", "build_overlay_text",
    "enforce_clarify_shape", "build_project_context",
)  # fmt: skip
"""Names of the steps of an answer from memory, of its policy, and of projects' contexts."""


@cache
def tree(module: Path) -> ast.Module:
    """A module, parsed."""
    return ast.parse((ROOT / module).read_text(encoding="utf-8"))


def nodes(module: Path, *kinds_of: type[ast.AST]) -> Iterator[ast.AST]:
    """Its nodes of these kinds."""
    return (node for node in ast.walk(tree(module)) if isinstance(node, kinds_of))


def test_what_the_seeds_name_is_there_once() -> None:
    """Two functions of one name had the second silently win."""
    defined = Counter(
        node.name
        for module in MODULES
        for node in nodes(module, ast.FunctionDef, ast.AsyncFunctionDef)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    )
    assert {name: defined[name] for name in SEEDED} == dict.fromkeys(SEEDED, 1)


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


def test_every_module_is_used() -> None:
    """Imported by another one, or named where its process is started; `app/cli` by the names of commands."""
    names = {".".join(module.with_suffix("").parts) for module in MODULES}
    used = set().union(*(imported(module) for module in MODULES))
    started = {name for name in names for module in MODULES if f'"{name}"' in (ROOT / module).read_text()}
    assert [name for name in sorted(names - used - started) if not name.startswith("app.cli.")] == []


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


def imported(module: Path) -> set[str]:
    """What it takes from where: modules, and what may be modules of a package."""
    found = [node for node in nodes(module, ast.ImportFrom) if isinstance(node, ast.ImportFrom)]
    return {node.module for node in found if node.module} | {
        f"{node.module}.{alias.name}" for node in found for alias in node.names
    }


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
