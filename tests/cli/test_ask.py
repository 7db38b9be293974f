"""`ibid ask` through a running service: the answer as it streams, its sources, and what is not found."""

import subprocess

from tests.cli.conftest import PROGRAM, Ibid, Running, lines
from tests.fakes.pdfs import text_pdf


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
