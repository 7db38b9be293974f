"""The documentation holds: docs/failures.md names tests, statuses and reasons that there are; the
examples of README and guide run as written; links and citations lead somewhere. The prose check finds what it
should, and nothing in good English."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from app.errors import kinds
from tests.fakes.pdfs import text_pdf
from tests.fakes.process import service
from tests.prose import found_in

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "docs" / "failures.md").read_text(encoding="utf-8")
ABOUT = ("test_faults.py", "test_outages.py")
"""Files in tests/integration of which every test verifies a section."""
REASONS = {"timeout", "unavailable", "overloaded", "embedding", "not_available"}


class Section(NamedTuple):
    """A fault of a dependency."""

    title: str
    outcomes: dict[str, str]
    tests: list[str]


def sections() -> Iterator[Section]:
    """Of the page, in its order."""
    for title, text in re.findall(r"^### (.+)\n((?:(?!##).*\n)*)", PAGE, re.MULTILINE):
        rows = re.findall(r"^\| (.+?) \| (.+) \|$", text, re.MULTILINE)
        tests = re.findall(r"`(test_\w+)`", text.partition("\nTests: ")[2])
        yield Section(title, dict(rows[1:]), tests)


SECTIONS = list(sections())
CASES = [pytest.param(section, id=section.title) for section in SECTIONS]


@cache
def defined(file: Path) -> set[str]:
    """Names of the tests in a file."""
    return set(re.findall(r"(?m)^(?:async )?def (test_\w+)", file.read_text(encoding="utf-8")))


def test_every_dependency_is_summed_up_and_has_its_faults() -> None:
    """The table at the top has the headings. Whatever is asked over a network can be down and silent."""
    headings = [name.partition(" (")[0] for name in re.findall(r"(?m)^## (.+)$", PAGE)]
    assert re.findall(r"(?m)^\| ([^|]+?) \|.+\|.+\|.+\|$", PAGE)[1:] == headings
    assert {section.title.partition(": ")[0] for section in SECTIONS} == set(headings)
    titles = {section.title for section in SECTIONS}
    remote = set(headings) - {"Disk of the data directory", "Client", "Ibid itself"}
    assert {f"{name}: {fault}" for name in remote for fault in ("down", "silent")} <= titles
    assert len(titles) == len(SECTIONS)


@pytest.mark.parametrize("section", CASES)
def test_every_section_is_verified(section: Section) -> None:
    """It declares an outcome and names tests; a test that is renamed or dropped is missed here."""
    assert section.outcomes
    assert section.tests
    assert set(section.tests) <= set[str]().union(*map(defined, TESTS.rglob("test_*.py")))


def test_no_test_of_a_fault_is_forgotten() -> None:
    """Each test of the files about faults is named."""
    named = {test for section in SECTIONS for test in section.tests}
    assert [test for file in ABOUT for test in defined(TESTS / "integration" / file) - named] == []


@pytest.mark.parametrize("section", CASES)
def test_statuses_and_reasons_exist(section: Section) -> None:
    """A status with its slug is in the tree of errors; a reason is one that `degraded` knows."""
    told = " ".join(section.outcomes.values())
    known = {(kind.slug, kind.status) for kind in kinds()}
    found = re.findall(r"\b([45]\d\d) ([a-z]+(?:-[a-z]+)+|unavailable)", told)
    assert [slug for status, slug in found if (slug, int(status)) not in known] == []
    assert set(re.findall(r"\b(?:embedding|documents|postgres)/([a-z_]+)", told)) <= REASONS


ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    *(DOCS / "guide" / f"{task}.md" for task in ("documents", "memory", "vantage", "projects")),
]
"""Pages with examples, in the order in which a newcomer runs them."""
ADDRESS = "http://127.0.0.1:8000"

needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="the examples are for curl")


def examples() -> list[str]:
    """The blocks marked as shell."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    return re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def links() -> list[tuple[str, str]]:
    """Relative links of README and docs, with the page that has them."""
    pages = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]
    return [
        (str(page.relative_to(ROOT)), target)
        for page in pages
        for target in re.findall(r"\]\(((?!http|#)[^)]+)\)", page.read_text(encoding="utf-8"))
    ]


@needs_curl
def test_the_commands_lead_to_a_cited_answer(tmp_path: Path) -> None:
    """A document, a memory and a project, answers from each, a person's end; only the port is ours."""
    report = text_pdf("The main findings of the report are that bees prefer blue flowers over red ones.")
    (tmp_path / "report.pdf").write_bytes(report)

    with service(tmp_path / "data", ENABLE_VANTAGE_ENDPOINTS="1") as running:
        said = [
            subprocess.run(
                ["/bin/sh", "-c", command.replace(ADDRESS, running.lock.url)],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                timeout=60,
                check=True,
            ).stdout
            for command in examples()
        ]

    uploaded, streamed, whole, turns, *personal = said
    assert json.loads(uploaded)["state"] == "ready"
    assert re.findall(r"^event: (\w+)", streamed, re.MULTILINE)[0] == "meta"
    assert streamed.rstrip().rpartition("event: ")[2].startswith("done")
    assert json.loads(whole)["cited"] == ["report.pdf#1"]
    assert [turn["role"] for turn in json.loads(turns)["items"]] == ["user", "assistant"] * 2
    memories, texts, recalled, judged, changes, before, export, receipt, *rest = map(json.loads, personal)
    lights, unclear, policy, known, talked, context, informed = rest
    assert [item["outcome"] for item in (*memories["items"], *texts["items"])] == ["created"] * 3
    assert recalled["cited"] == [recalled["memory_used"][0]["label"]]
    assert "Okafor" in recalled["answer"]
    assert (judged["sentiment"], judged["applied"]) == ("positive", 1)
    assert {"memory", "answer"} <= {each["kind"] for each in changes["items"]}
    assert before["items"] == before["gone"] == []
    assert export["complete"] is True
    assert receipt["counts"]["memories"] >= 2
    assert (lights["response_class"], unclear["response_class"]) == ("COMPLY", "CLARIFY")
    assert (unclear["answer"], unclear["system_prompt"] is not None) == (None, True)
    assert policy["version"] == lights["decision"]["policy_version"]
    assert known["notes"][0]["title"] == "Router"
    assert talked["items"][0]["row"]["title"] in context["context"]
    assert "VLAN" in informed["answer"]
    assert informed["cited"] == [informed["citations"][0]["label"]]


@pytest.mark.parametrize(("page", "target"), links())
def test_every_link_leads_somewhere(page: str, target: str) -> None:
    """To a file of the repository."""
    assert ((ROOT / page).parent / target.partition("#")[0]).exists()


def test_only_the_guide_has_further_examples() -> None:
    """Each page with examples is run: here, or by a file in tests/clients that names it."""
    with_examples = {
        page
        for page in DOCS.rglob("*.md")
        if re.search(r"(?m)^```(sh|python)$", page.read_text(encoding="utf-8"))
    }
    clients = "".join(file.read_text(encoding="utf-8") for file in (TESTS / "clients").glob("test_*.py"))
    named = {page for page in (DOCS / "guide").glob("*.md") if f'run_examples("{page.name}"' in clients}
    assert with_examples <= named.union(PAGES)


@pytest.mark.parametrize("folder", ["adr", "guide", "measurements"])
def test_every_page_is_in_its_index(folder: str) -> None:
    """A page that nobody finds helps nobody."""
    index = (DOCS / folder / "README.md").read_text(encoding="utf-8")
    pages = [page.name for page in sorted((DOCS / folder).glob("*.md")) if page.name != "README.md"]
    assert [page for page in pages if f"({page})" not in index] == []


def test_decisions_are_few_and_cited_ones_exist() -> None:
    """At most twenty; modules cite them by `docs/adr/` and the number."""
    numbers = {page.name[:4] for page in (DOCS / "adr").glob("[0-9]*.md")}
    modules = [
        path for folder in ("app", "bench", "tests", "alembic") for path in (ROOT / folder).rglob("*.py")
    ]
    cited = {
        number
        for module in modules
        for number in re.findall(r"docs/adr/(\d{4})", module.read_text(encoding="utf-8"))
    }
    assert len(numbers) <= 20
    assert cited <= numbers


def test_the_readme_is_short() -> None:
    """What it is, two commands, one answer; the rest is in the guide."""
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 130


def test_files_that_are_named_exist() -> None:
    """`db/pool.py` in a page or a docstring is a file of the project."""
    named = re.compile(r"`((?:\w+/)+\w+\.(?:py|md))`")
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "app").rglob("*.py")]
    missing = [
        f"{page.relative_to(ROOT)}: {name}"
        for page in pages
        for name in named.findall(page.read_text("utf-8"))
        if not any((ROOT / base / name).exists() for base in ("", "app", "docs"))
    ]

    assert not missing


@pytest.mark.parametrize(
    "text",
    [
        "Whoever asks gets the answer.",
        "The caller is told why.",
        "It stands in for the server.",
        "What has left.",
        "Whether anything has left.",
        "Searched by words and meaning.",
        "All shelves.",
        "Source: PLANS §2.",
    ],
)
def test_private_phrases_are_found(text: str) -> None:
    """In docstrings, comments and pages alike."""
    assert [
        finding.line for finding in found_in("a.py", f'"""Module."""\n\n\ndef f():\n    """{text}"""\n')
    ] == [5]
    assert [finding.line for finding in found_in("a.py", f"x = 1\n# {text}\n")] == [2]
    assert [finding.line for finding in found_in("a.md", f"# Title\n\n- {text}\n")] == [3]


@pytest.mark.parametrize(
    "text",
    [
        "True once the first token was sent.",
        "The error while the breaker is open: 504 after timeouts, otherwise 502.",
        "Lists what was found and who wrote it.",
        "What is wrong with it?",
        "`stands` and `PLANS §2` in backticks.",
    ],
)
def test_plain_english_passes(text: str) -> None:
    """Code, headings and text in backticks are not looked at."""
    assert list(found_in("a.md", f"# What stands\n\n{text}\n\n```\nwhat is told\n```\n\n    is told\n")) == []
    assert list(found_in("a.py", f'"""{text}"""\n\nSTANDS = "is told"\n')) == []
