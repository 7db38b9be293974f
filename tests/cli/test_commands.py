"""`ingest`, `ask` and `keys` through a running service: the whole way, as a person goes it."""

import json
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.cli.conftest import PROGRAM, Done, Ibid, Running
from tests.fakes.pdfs import encrypted_pdf, text_pdf

HARBOUR = "The harbour of Esbjerg was dredged in 1987 because larger ferries could no longer dock there."
ORCHARD = "The orchard keeps forty varieties of apple, and the oldest tree was planted by the bishop's cook."

pytestmark = pytest.mark.usefixtures("service")


@pytest.fixture(scope="module")
def folder(held: Ibid) -> Path:
    """Two PDFs that can be read and two files that cannot."""
    place = held.place / "papers"
    place.mkdir()
    (place / "harbour.pdf").write_bytes(text_pdf([HARBOUR, ORCHARD], title="On harbours"))
    (place / "LOCKED.PDF").write_bytes(encrypted_pdf())
    (place / "notes.txt").write_text("not a PDF")
    return place


@pytest.fixture(scope="module")
def ingested(held: Ibid, folder: Path, service: Running) -> Done:
    """The folder and one named file, ingested for all sessions."""
    return held("ingest", folder, folder / "notes.txt")


def lines(output: str) -> list[dict[str, Any]]:
    """JSON objects, one a line."""
    return [json.loads(line) for line in output.splitlines()]


def test_ingest_says_what_became_of_each_file(ingested: Done) -> None:
    """Pages for those taken, the reason for those refused, a sum at the end; and exit code 1."""
    told = sorted(ingested.out.splitlines()[:-1])

    assert ingested.code == 1
    assert "LOCKED.PDF: The PDF is encrypted" in told[0]
    assert "notes.txt: Not a PDF" in told[1]
    assert "harbour.pdf: 2 pages" in told[2]
    assert ingested.out.splitlines()[-1] == "3 files: 1 taken (2 pages), 2 refused"


def test_ingesting_again_finds_it_there(held: Ibid, folder: Path, ingested: object) -> None:
    """The same bytes are known; nothing is refused, so the exit code is 0."""
    again = held("ingest", folder / "harbour.pdf", "--json")

    [line] = lines(again.out)
    assert (again.code, line["status"], line["problem"]) == (0, "known", None)
    assert line["document"]["scope"] == "global"


def test_machines_read_the_problem_of_a_refused_file(held: Ibid, folder: Path, service: Running) -> None:
    """With --json stdout holds JSON lines alone."""
    refused = held("ingest", folder / "LOCKED.PDF", "--json", "--session", "s")

    [line] = lines(refused.out)
    assert (refused.code, line["status"]) == (1, "refused")
    assert line["problem"]["type"] == "urn:ibid:problem:pdf-encrypted"


def test_a_new_version_needs_replace(held: Ibid, service: Running) -> None:
    """The name is taken, until the person says that the old one may go."""
    path = held.place / "version.pdf"
    path.write_bytes(text_pdf("The first version."))
    first = held("ingest", path, "--session", "v")
    path.write_bytes(text_pdf("The second version."))

    refused = held("ingest", path, "--session", "v")
    replaced = held("ingest", path, "--session", "v", "--replace")

    assert [run.code for run in (first, refused, replaced)] == [0, 1, 0]
    assert "taken by another document" in refused.out


def test_ask_streams_an_answer_and_names_its_sources(held: Ibid, ingested: object) -> None:
    """The passage is cited in the text, and listed with its page below."""
    answered = held("ask", "Why was the harbour of Esbjerg dredged?")

    assert answered.code == 0
    assert "larger ferries" in answered.out
    assert "[harbour.pdf#1]" in answered.out
    assert answered.out.splitlines()[-1] == "  [harbour.pdf#1] On harbours, pages 1–2"


def test_ask_gives_machines_the_whole_reply(held: Ibid, ingested: object) -> None:
    """One JSON object with the facts of the API."""
    [reply] = lines(held("ask", "Who planted the oldest apple tree?", "--json").out)

    assert reply["rag"]["used"] is True
    assert reply["cited"]
    assert "cook" in reply["answer"]


def test_ask_says_when_nothing_matches(held: Ibid, ingested: object) -> None:
    """An answer without sources is marked as one."""
    answered = held("ask", "How do submarines navigate beneath arctic ice sheets?")

    assert answered.code == 0
    assert "Answered without sources" in answered.err


def test_a_session_is_asked_only_by_its_name(held: Ibid, service: Running) -> None:
    """Documents of a session are not found without it."""
    path = held.place / "secret.pdf"
    path.write_bytes(text_pdf("The combination of the vault at Odense is written on the lighthouse stairs."))
    held("ingest", path, "--session", "mine")
    question = "Where is the combination of the vault at Odense written?"

    with_it, without = held("ask", question, "--session", "mine"), held("ask", question)

    assert "[secret.pdf#1]" in with_it.out
    assert "secret.pdf" not in without.out


def test_a_problem_of_the_service_is_told_in_words(held: Ibid, service: Running) -> None:
    """Exit code 1, one sentence, no traceback."""
    refused = held("ask", "Why?", "--session", "two words")

    assert refused.code == 1
    assert refused.err.startswith("ibid: A field is not as it should be")
    assert "Traceback" not in refused.err


def test_a_reader_that_leaves_early_is_no_error(held: Ibid, ingested: object) -> None:
    """`ibid ask … | head -c 1` ends without a traceback."""
    command = f"{PROGRAM} ask 'Why was the harbour of Esbjerg dredged?' | head -c 1"

    piped = subprocess.run(
        ["/bin/sh", "-c", command], env=held.environment(), capture_output=True, timeout=60, check=False
    )

    assert len(piped.stdout) == 1
    assert b"Traceback" not in piped.stderr


def test_keys_are_made_listed_and_revoked_while_a_service_runs(held: Ibid, service: Running) -> None:
    """A key is shown once, works at once, and stops working when it is revoked."""
    made = held("keys", "create", "--tenant", "acme", "--user", "ann", "--name", "laptop")
    key = made.out.strip()
    [listed] = lines(held("keys", "list", "--json").out)
    head = {"Authorization": f"Bearer {key}"}

    before = httpx.get(f"{service.url}/api/documents", headers=head, trust_env=False).status_code
    revoked = held("keys", "revoke", listed["id"])

    assert (made.code, before, revoked.code) == (0, 200, 0)
    assert (listed["tenant"], listed["user"], listed["name"]) == ("acme", "ann", "laptop")
    assert key not in json.dumps(listed)
    assert held("keys", "revoke", listed["id"]).code == 1


def test_migrate_finds_nothing_to_do(held: Ibid, service: Running) -> None:
    """The service migrated at its start."""
    assert held("migrate").out == "The database is up to date.\n"
