"""The README's commands, run as they stand there: a newcomer copies them."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.fakes.pdfs import text_pdf
from tests.fakes.process import service

README = (Path(__file__).parents[1] / "README.md").read_text()
ADDRESS = "http://127.0.0.1:8000"

needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="the examples are for curl")


def examples() -> list[str]:
    """The blocks marked as shell."""
    return re.findall(r"^```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


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
    memories, texts, recalled, judged, export, receipt, *rest = map(json.loads, personal)
    lights, unclear, policy, known, talked, context, informed = rest
    assert [item["outcome"] for item in (*memories["items"], *texts["items"])] == ["created"] * 3
    assert recalled["cited"] == [recalled["memory_used"][0]["label"]]
    assert "Okafor" in recalled["answer"]
    assert (judged["sentiment"], judged["applied"]) == ("positive", 1)
    assert export["complete"] is True
    assert receipt["counts"]["memories"] >= 2
    assert (lights["response_class"], unclear["response_class"]) == ("COMPLY", "CLARIFY")
    assert (unclear["answer"], unclear["system_prompt"] is not None) == (None, True)
    assert policy["version"] == lights["decision"]["policy_version"]
    assert known["notes"][0]["title"] == "Router"
    assert talked["items"][0]["row"]["title"] in context["context"]
    assert "VLAN" in informed["answer"]
    assert informed["cited"] == [informed["citations"][0]["label"]]


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\]\(((?!http|#)[^)]+)\)", README))))
def test_every_link_leads_somewhere(path: str) -> None:
    """Files of the repository that the README names are there."""
    assert (Path(__file__).parents[1] / path).exists()


def test_every_decision_is_in_the_index() -> None:
    """A page that nobody finds decides nothing."""
    folder = Path(__file__).parents[1] / "docs" / "decisions"
    index = (folder / "README.md").read_text()

    assert [page.name for page in sorted(folder.glob("[0-9]*.md")) if f"({page.name})" not in index] == []
