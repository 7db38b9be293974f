"""`ibid ask` through a running service: the answer as it streams, its sources, and what is not found."""

import subprocess
from collections.abc import Iterator

import pytest
from anyio.from_thread import start_blocking_portal

from tests.cli.conftest import PROGRAM, Ibid, Running, lines
from tests.fakes.model import Fault, ModelServer, model_server
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
    """One sentence, no traceback; exit code 2, since it was typed."""
    refused = held("ask", "   ")

    assert refused.code == 2
    assert refused.err.startswith("ibid: Invalid request field")
    assert "Traceback" not in refused.err


def test_a_reader_that_leaves_early_is_no_error(held: Ibid, ingested: object) -> None:
    """`ibid ask … | head -c 1` ends without a traceback."""
    command = f"{PROGRAM} ask 'Why was the harbour of Esbjerg dredged?' | head -c 1"

    piped = subprocess.run(
        ["/bin/sh", "-c", command], env=held.environment(), capture_output=True, timeout=60, check=False
    )

    assert len(piped.stdout) == 1
    assert b"Traceback" not in piped.stderr


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A chat model on a loop of its own, configured: commands block this thread."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(model_server()) as server:
        monkeypatch.setenv("CHAT_BASE_URL", server.url)
        yield server


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        pytest.param(
            Fault(status=401), "ibid: The model's server refused the request", id="before the answer"
        ),
        pytest.param(Fault(error_after=1), "ibid: The chat model failed", id="in the middle of it"),
    ],
)
def test_a_model_that_fails_is_told(begun: Ibid, model: ModelServer, fault: Fault, said: str) -> None:
    """Whether as a status or as an event: exit code 1 and the problem's words."""
    model.fault = fault

    failed = begun("ask", "What is the matter with the model?")

    assert failed.code == 1
    assert failed.err.startswith(said)


def test_an_answer_commands_no_terminal(begun: Ibid, model: ModelServer) -> None:
    """Its words are shown, without what would colour them, name the window or fill the clipboard."""
    model.reply = "It is \x1b[31mred\x1b[0m,\x1b]0;owned\x07 \x1b]52;c;cm0gLXJm\x07says \x9b2Jthe\x08 model."

    answered = begun("ask", "What is red?")

    assert answered.out.startswith("It is red, says the model.")
    assert not [sign for sign in answered.out + answered.err if not (sign.isprintable() or sign == "\n")]


def test_without_a_session_nothing_earlier_counts(begun: Ibid, model: ModelServer) -> None:
    """Each question stands alone; with a session the turns before it go along."""
    for words in (["First?"], ["Second?"], ["Third?", "--session", "s"], ["Fourth?", "--session", "s"]):
        begun("ask", *words)

    asked = [request.body["messages"] for request in model.asked("/chat/completions")]
    turns = [[turn["content"] for turn in messages if turn["role"] != "system"] for messages in asked]
    assert turns == [["First?"], ["Second?"], ["Third?"], ["Third?", "A reply.", "Fourth?"]]
