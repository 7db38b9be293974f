"""`ibid docs`, `sessions`, `memories` and `config show`."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import PROGRAM, Ibid, Running, lines
from tests.fakes.pdfs import text_pdf
from tests.fakes.process import furnish


def test_documents_are_listed_shown_and_deleted(held: Ibid, ingested: object) -> None:
    """By label or id, and a passage by its label."""
    (held.place / "gone.pdf").write_bytes((held.place / "papers" / "harbour.pdf").read_bytes())
    held("ingest", held.place / "gone.pdf", "--session", "brief")
    [document] = [each for each in lines(held("docs", "list", "--json").out) if each["session_id"] == "brief"]

    assert "\tbrief\t2\t" in held("docs", "list").out
    assert document["id"] in held("docs", "show", document["label"], "-s", "brief").out
    passage = held("docs", "show", f"[{document['label']}#1]")
    assert "dredged in 1987" in passage.out
    assert held("docs", "delete", document["id"], "--yes", "--json").out == (
        json.dumps({"id": document["id"], "deleted": True}) + "\n"
    )
    missing = held("docs", "show", "gone.pdf")
    assert (missing.code, missing.err) == (1, "ibid: there is no gone.pdf\n")


def test_deleting_asks_first(held: Ibid, ingested: object) -> None:
    """Without an answer nothing is deleted."""
    done = held.process("docs", "delete", "harbour.pdf")
    assert done.code == 1
    assert "harbour.pdf" in held("docs", "list").out


def test_memories_are_kept_listed_and_deleted(held: Ibid, service: Running) -> None:
    kept = held("memories", "add", "-u", "ann", "I", "keep", "bees.", "--kind", "preference")
    again = held("memories", "add", "-u", "ann", "I keep bees.", "--kind", "preference")
    [memory] = lines(held("memories", "list", "-u", "ann", "--json").out)

    assert kept.out == f"Kept as {memory['id']}.\n"
    assert (memory["text"], memory["kind"]) == ("I keep bees.", "preference")
    assert "Already kept" in again.err
    assert held("memories", "delete", "-u", "ann", "bees", "--yes").code == 1
    assert held("memories", "delete", "-u", "ann", memory["id"][:8], "--yes").code == 0
    assert held("memories", "list", "-u", "ann").err == "Nothing is kept for ann.\n"
    assert held("memories", "list").code == 2


def test_sessions_are_shown_and_deleted(held: Ibid, ingested: object) -> None:
    held("ask", "Who planted the oldest apple tree?", "-s", "trees")

    assert "trees\t0\t2\t" in held("sessions", "list").out
    assert held("sessions", "list", "APPLE tree").out.startswith("trees\t")
    assert "trees" not in held("sessions", "list", "zeppelin").out
    assert held("sessions", "show", "trees").out.startswith("> Who planted the oldest apple tree?\n")
    assert held("sessions", "delete", "trees", "--yes").out == "Deleted trees.\n"
    assert held("sessions", "show", "trees").code == 1


def test_the_settings_in_effect_are_shown_without_secrets(ibid: Ibid) -> None:
    """With where each comes from; passwords within addresses are hidden too."""
    (ibid.place / ".env").write_text("RAG_TOP_K_MAX=7\nCHAT_API_KEY=sk-secret-1\n")
    given = {
        "POSTGRES_DSN": "postgresql://ibid:secret-2@db/ibid?password=secret-3",
        "IBID_BOOTSTRAP_KEY": "secret-4-secret-4-secret-4",
    }

    done = ibid.process("config", "show", "--json", **given)

    assert "secret" not in done.out.lower()
    found = json.loads(done.out)
    assert found["RAG_TOP_K_MAX"] == {"value": 7, "from": ".env"}
    assert found["CHAT_API_KEY"] == {"value": "********", "from": ".env"}
    assert found["POSTGRES_DSN"]["from"] == found["IBID_DATA_DIR"]["from"] == "environment"
    assert found["IBID_PORT"] == {"value": 8000, "from": "default"}
    changed = ibid.process("config", "show", "--changed", **given).out
    assert re.findall(r"^(\w+)=", changed, re.MULTILINE) == [
        *("IBID_DATA_DIR", "IBID_BOOTSTRAP_KEY", "RAG_TOP_K_MAX", "CHAT_API_KEY", "POSTGRES_DSN")
    ]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_can_complete_commands(ibid: Ibid, shell: str) -> None:
    """The script needs no network."""
    script = subprocess.run(
        [str(PROGRAM)],
        env=ibid.environment(_IBID_COMPLETE=f"source_{shell}"),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "_IBID_COMPLETE" in script.stdout


def test_the_guides_examples_run(ibid: Ibid) -> None:
    """In order, on one folder with a service; each does what it says."""
    page = Path(__file__).parents[2] / "docs" / "guide" / "command-line.md"
    blocks = re.findall(
        r"^```console\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    commands = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]
    report = text_pdf("The main findings of the report are that bees prefer blue flowers over red ones.")
    (ibid.place / "report.pdf").write_bytes(report)
    furnish(ibid.data)
    running = ibid.start()
    said = {}
    environment = ibid.environment()
    environment["PATH"] = f"{PROGRAM.parent}:{environment['PATH']}"
    for command in commands:
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=ibid.place,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        assert done.returncode == 0, (command, done.stderr)
        said[command] = done.stdout
    running.stop()

    assert len(commands) >= 20
    assert all("blue flowers" in text for command, text in said.items() if "bees prefer?" in command)
    assert "Okafor" in said["ibid memories list --user ann"]
    assert "* [report.pdf#1]" in said["ibid why --all"]
    assert "#page=1" in said["ibid open report.pdf#1 --print"]
    assert said["ibid config show --changed"].startswith("IBID_DATA_DIR=")
