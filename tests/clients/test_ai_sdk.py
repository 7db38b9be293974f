"""The AI SDK (npm `ai` with `@ai-sdk/openai`) over the Responses API: text and sources arrive."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.clients.conftest import PROGRAM, SECONDS
from tests.clients.examples import ADDRESS, GUIDE
from tests.fakes.model import Fault
from tests.fakes.pdfs import text_pdf
from tests.integration.conftest import Talk

QUESTION = "How many crates of apples did the orchard give in 2019?"


@pytest.fixture(scope="module")
def orchard(talk: Talk) -> Talk:
    pdf = text_pdf("In 2019 the orchard gave 412 crates of apples.")
    for session in ("sdk", "demo"):
        assert talk.service.upload("orchard.pdf", pdf, session_id=session).status_code == 201
    return talk


def node(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [str(PROGRAM), *arguments], cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def asked(folder: Path, talk: Talk) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(node(folder, "responses.mjs", f"{talk.service.lock.url}/v1", QUESTION))
    return told


def test_text_and_sources_arrive(packages: Path, orchard: Talk) -> None:
    orchard.model.reply, orchard.model.fault = (
        "It gave 412 crates [orchard.pdf#1], they say.",
        Fault(pace=0.01),
    )
    told = asked(packages, orchard)

    assert told["text"] == "It gave 412 crates [1], they say."
    assert told["deltas"] > 3
    assert [each["sourceType"] for each in told["sources"]] == ["url", "document"]
    address, file = told["sources"]
    assert orchard.service.client.get(address["url"]).json()["label"] == "orchard.pdf#1"
    assert file["filename"] == "orchard.pdf"
    assert told["finish"]["reason"] == "stop"
    assert told["finish"]["tokens"] > 0
    assert told["error"] is None


def test_an_answer_that_breaks_off_is_an_error(packages: Path, orchard: Talk) -> None:
    orchard.model.fault = Fault(only="/chat/completions", close_after=3)
    told = asked(packages, orchard)
    assert told["text"]
    assert told["error"]


def test_the_example_of_the_guide_runs(packages: Path, orchard: Talk) -> None:
    orchard.model.reply, orchard.model.fault = "It gave 412 crates [orchard.pdf#1].", Fault()
    [example] = re.findall(r"(?ms)^```js\n(.*?)^```$", (GUIDE / "openai.md").read_text(encoding="utf-8"))
    example = example.replace(ADDRESS, orchard.service.lock.url).replace(
        "Which flowers do bees prefer?", QUESTION
    )
    (packages / "example.mjs").write_text(example, encoding="utf-8")
    text, *sources = node(packages, "example.mjs").split("\n")
    assert text == "It gave 412 crates [1]."
    assert [source.partition(":")[0] for source in sources if source] == ["url", "document"]
