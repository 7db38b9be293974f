"""`ibid ask`: the answer as it streams, then its sources with file and page. `ibid chat`: question after
question.

Without --session only global documents are searched and each question of `ask` is independent; with it, the
session's documents and its earlier turns are used too. `chat` has a session of its own unless one is named.
Ctrl-C stops an answer, the service keeps what was said; Ctrl-D ends `chat`.
"""

import sys
from collections.abc import Mapping
from concurrent.futures import Future, wait
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.answer import address_of, cited_of
from app.cli.client import Answered, connect, events, is_served, taken
from app.cli.rendering import Printer, printer, sources
from app.cli.terminal import (
    DataDir,
    Json,
    as_json,
    configured,
    input_text,
    name,
    remark,
    run,
    session_id,
    tell,
)
from app.errors import IbidError, Unavailable
from app.types import SOURCES

if TYPE_CHECKING:
    import httpx

    from app.settings import Settings

DEFAULT_SESSION = "ibid-ask"
"""The session in which questions without one are logged."""
REASONS = {
    "empty": "nothing is stored in reach; add PDFs with: ibid ingest PATH",
    "processing": "a document is still being read; ask again in a moment",
    "no_match": "nothing stored matches the question",
    "skipped_short_query": "the question is too short to be searched",
    "timeout": "the search took too long",
    "unavailable": "the documents could not be searched",
    "small_talk": "small talk is not searched",
}


def known_sources(given: list[str] | None) -> list[str]:
    """Repeated or separated by commas."""
    found = [word.strip() for each in given or [] for word in each.split(",") if word.strip()]
    if unknown := [word for word in found if word not in SOURCES]:
        raise typer.BadParameter(f"{unknown[0]!r} is none of {', '.join(SOURCES)}")
    return list(dict.fromkeys(found))


Session = Annotated[
    str | None,
    typer.Option(
        "--session",
        "-s",
        callback=session_id,
        help="Search its documents too, and continue its conversation.",
    ),
]
Project = Annotated[
    str | None,
    typer.Option("--project", "-p", callback=name, help="What it is about: its rules and context."),
]
SourceNames = Annotated[
    list[str] | None,
    typer.Option(
        "--source",
        callback=known_sources,
        metavar="|".join(SOURCES),
        help="Where to search; repeat it, or separate with commas.",
        show_default="documents, with --user memories too",
    ),
]
User = Annotated[str | None, typer.Option("--user", "-u", callback=name, help="Who asks: their memories.")]
Model = Annotated[
    str | None,
    typer.Option(
        "--model", "-m", callback=name, help="Another chat model.", show_default="the configured one"
    ),
]


@dataclass(frozen=True, slots=True)
class QuestionFields:
    """Fields of the questions."""

    session: str
    project: str | None
    sources: list[str] | None
    user: str | None
    model: str | None

    def body(self, message: str) -> dict[str, Any]:
        sources = self.sources or (["documents", "memories"] if self.user and not self.project else None)
        fields = {"user_id": self.user, "project": self.project, "sources": sources, "model": self.model}
        given = {name: value for name, value in fields.items() if value}
        return {"message": message, "session_id": self.session, "stream": True} | given


def ask(
    text: Annotated[
        list[str] | None,
        typer.Argument(help="The question; `-` is read from stdin.", show_default="stdin", metavar="TEXT"),
    ] = None,
    *,
    session: Session = None,
    project: Project = None,
    source: SourceNames = None,
    user: User = None,
    model: Model = None,
    json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Ask a question and read the answer with its sources."""
    body = QuestionFields(session or DEFAULT_SESSION, project, source, user, model).body(input_text(text))
    if session is None:
        body["history"] = []
    run(answer(configured(data_dir), body | {"stream": not json}))


async def answer(config: "Settings", body: Mapping[str, Any]) -> None:
    async with connect(config) as client:
        if body["stream"]:
            await streamed(client, body, lasting=is_served(config))
        else:
            as_json(taken(await client.post("/api/chat", json=body)))


async def streamed(client: "httpx.AsyncClient", body: Mapping[str, Any], *, lasting: bool) -> str:
    """Print the answer and its sources; returns its id. Without a `lasting` service there are no links."""
    meta: Mapping[str, Any] = {}
    cited: list[str] = []
    links: dict[str, str] = {}
    ended = False
    async with client.stream("POST", "/api/chat", json=body) as response:
        if not response.is_success:
            await response.aread()
            taken(response)
        with printer() as page:
            async with aclosing(events(response.aiter_bytes())) as received:
                async for event, data in received:
                    if event == "meta":
                        meta, links = data, addresses(data, str(client.base_url)) if lasting else {}
                        page.link(links)
                    show(page, event, data)
                    cited = data["cited"] if event == "citations" else cited
                    ended = ended or event == "done"
    if not ended:
        raise Unavailable("the answer broke off: the connection to the service was lost")
    footer(meta, cited, links)
    return str(meta["answer_id"])


def addresses(meta: Mapping[str, Any], base: str) -> dict[str, str]:
    found = {each["label"]: address_of(cited_of(each), base.rstrip("/")) for each in meta["citations"]}
    return {label: address for label, address in found.items() if address}


def show(page: Printer, event: str, data: Mapping[str, Any]) -> None:
    if event == "token":
        page.add(data["text"])
    elif event == "error":
        raise Answered(data)


def footer(meta: Mapping[str, Any], cited: list[str], links: Mapping[str, str]) -> None:
    tell()
    sources([each for each in meta["citations"] if each["label"] in cited], links)
    if not meta["rag"]["used"]:
        remark(f"Answered without sources: {REASONS.get(meta['rag']['reason'], meta['rag']['reason'])}.")
    for lost in meta["degraded"]:
        remark(f"Incomplete: {lost['source']} did not answer ({lost['reason']}).")


HELP = """/why  why the last answer is as it is     /new   begin a new conversation
/help these lines                         /quit  leave, as Ctrl-D does; Ctrl-C stops an answer"""


def chat(
    *,
    session: Session = None,
    project: Project = None,
    source: SourceNames = None,
    user: User = None,
    model: Model = None,
    data_dir: DataDir = None,
) -> None:
    """Ask question after question, each with the ones before in mind."""
    config = configured(data_dir)
    asking = QuestionFields(session or fresh_session(), project, source, user, model)
    from anyio.from_thread import start_blocking_portal  # noqa: PLC0415 - of this command alone

    # The loop has a thread of its own: this one reads lines, with the terminal's own editing.
    with (
        start_blocking_portal("asyncio", {"use_uvloop": True}) as portal,
        portal.wrap_async_context_manager(connect(config)) as client,
    ):
        ChatLoop(client, asking, portal.start_task_soon, lasting=is_served(config)).run()


def fresh_session() -> str:
    return f"chat-{datetime.now().astimezone():%Y%m%d-%H%M%S}"


class ChatLoop:
    def __init__(
        self,
        client: "httpx.AsyncClient",
        asking: QuestionFields,
        start: Any,  # noqa: ANN401 - anyio's
        *,
        lasting: bool,
    ) -> None:
        self._client = client
        self._asking = asking
        self._start = start
        self._lasting = lasting
        self._last = ""

    def run(self) -> None:
        if sys.stdin.isatty():
            import readline  # noqa: F401, PLC0415 - `input` then edits lines and remembers them

            remark(
                f"Session {self._asking.session}. Ctrl-C stops an answer, Ctrl-D leaves, /help shows more."
            )
        while (line := self._line()) is not None:
            if line in ("/quit", "/exit"):
                return
            if line:
                self._take(line)

    def _line(self) -> str | None:
        """The next line; None at the end."""
        if not sys.stdin.isatty():
            line = sys.stdin.buffer.readline()
            try:
                return line.decode().strip() if line else None
            except UnicodeDecodeError:
                raise typer.BadParameter("stdin is not UTF-8") from None
        while True:
            try:
                return input("\n> ").strip()
            except EOFError:
                tell()
                return None
            except KeyboardInterrupt:
                remark("\nCtrl-D leaves.")

    def _take(self, line: str) -> None:
        try:
            if line == "/help":
                tell(HELP)
            elif line == "/new":
                self._asking = QuestionFields(fresh_session(), *self._fields)
                remark(f"Session {self._asking.session}.")
            elif line == "/why":
                self._why()
            elif line.startswith("/") and " " not in line:
                remark(f"{line} is no command of the chat; /help lists them.")
            else:
                self._last = self._done(streamed, self._client, self._asking.body(line)) or self._last
        except IbidError as error:
            remark(f"ibid: {error.detail}")
            if not sys.stdin.isatty():
                raise typer.Exit(1) from None

    @property
    def _fields(self) -> tuple[Any, ...]:
        asking = self._asking
        return asking.project, asking.sources, asking.user, asking.model

    def _why(self) -> None:
        from app.cli.why import explained  # noqa: PLC0415 - of this line alone

        if not self._last:
            remark("There is no answer yet.")
            return
        self._done(explained, self._client, self._last)

    def _done(self, work: Any, *arguments: Any) -> str | None:  # noqa: ANN401 - a coroutine function of ours
        """Wait for it; Ctrl-C cancels it, which closes the stream, and the service stops the model."""

        async def working() -> str | None:
            return str(await work(*arguments, lasting=self._lasting))

        future: Future[str | None] = self._start(working)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            wait([future])
            remark("\nStopped.")
            return None
