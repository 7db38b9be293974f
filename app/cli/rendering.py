"""Answers on a terminal: Markdown while it streams, citations as links (OSC 8); plain text when piped.

Only citations become links, to addresses of the service. Links that a model or a document wrote are shown
with their address, since a link may say one thing and lead to another.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from app.answer import cited_of, named
from app.cli.terminal import is_styled, safe, screen, tell

if TYPE_CHECKING:
    from markdown_it.token import Token
    from rich.console import Console, RenderableType
    from rich.markdown import Markdown

MARK = re.compile(r"\[([^\[\]\n]{1,240}#[^\[\]\n]{1,80})\]")
"""A citation."""
FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)
REFRESH = 10
"""Times a second that the unfinished paragraph is drawn again."""


class Printer(Protocol):
    def add(self, text: str) -> None: ...
    def link(self, links: Mapping[str, str]) -> None:
        """Addresses by label, for the text to come."""


class PlainPrinter:
    def add(self, text: str) -> None:
        tell(text, end="")

    def link(self, links: Mapping[str, str]) -> None:
        pass


class MarkdownPrinter:
    """Prints each paragraph when it is complete, and redraws the last one while it grows."""

    def __init__(self, console: "Console") -> None:
        from rich.live import Live  # noqa: PLC0415 - only a terminal needs it

        self._console = console
        self._links: Mapping[str, str] = {}
        self._text = ""
        self._live = Live(console=console, transient=True, refresh_per_second=REFRESH)
        self._printed = False

    def link(self, links: Mapping[str, str]) -> None:
        self._links = links

    def add(self, text: str) -> None:
        self._text += text
        end = finished(self._text)
        if end:
            self._print(self._text[:end])
            self._text = self._text[end:]
        self._live.update(Tail(markdown(self._text, self._links)))

    def _print(self, text: str) -> None:
        if text.strip():
            if self._printed:
                self._console.print()
            self._console.print(markdown(text, self._links))
            self._printed = True

    @contextmanager
    def printing(self) -> Iterator["MarkdownPrinter"]:
        try:
            with self._live:
                yield self
                self._live.update("")
        finally:
            self._print(self._text)
            self._text = ""


class Tail:
    """The last lines of something that may be longer than the screen."""

    def __init__(self, whole: "RenderableType") -> None:
        self._whole = whole

    def __rich_console__(self, console: "Console", options: Any) -> Iterator[Any]:  # noqa: ANN401 - rich's own
        from rich.segment import Segment, SegmentLines  # noqa: PLC0415 - see above

        lines = console.render_lines(self._whole, options.update(height=None), pad=False)
        yield SegmentLines(lines[-max(1, console.height - 2) :], new_lines=True) if lines else Segment("")


@contextmanager
def printer() -> Iterator[Printer]:
    """For stdout; the text ends with a line break."""
    if is_styled():
        with MarkdownPrinter(screen()).printing() as styled:
            yield styled
    else:
        yield PlainPrinter()
        tell()


def finished(text: str) -> int:
    """The end of the paragraphs that later text does not change: before a line that begins a new one, outside
    code blocks and lists' continuations. 0: there is none."""
    for found in reversed(list(re.finditer(r"\n[ \t]*\n+(?=\S)", text))):
        if len(FENCE.findall(text[: found.start()])) % 2 == 0:
            return found.end()
    return 0


def markdown(text: str, links: Mapping[str, str]) -> "Markdown":
    from rich.markdown import Markdown  # noqa: PLC0415 - see above

    drawn = Markdown(safe(text))
    for token in drawn.parsed:
        if token.type == "inline" and token.children:
            token.children = list(cited(token.children, links))
    return drawn


def cited(tokens: "Sequence[Token]", links: Mapping[str, str]) -> "Iterator[Token]":
    """Citations with an address become links; other links lose theirs and show it."""
    from markdown_it.token import Token  # noqa: PLC0415 - see above

    addresses: list[str] = []
    for token in tokens:
        if token.type == "link_open":
            addresses.append(str(token.attrs.get("href", "")))
        elif token.type == "link_close":
            yield Token("text", "", 0, content=f" ({addresses.pop()})")
        elif token.type == "image":
            yield Token("text", "", 0, content=f"{token.content} ({token.attrs.get('src', '')})")
        elif token.type == "text":
            yield from linked(token.content, links)
        else:
            yield token


def linked(text: str, links: Mapping[str, str]) -> "Iterator[Token]":
    from markdown_it.token import Token  # noqa: PLC0415 - see above

    at = 0
    for found in MARK.finditer(text):
        if (address := links.get(found[1])) is None:
            continue
        yield Token("text", "", 0, content=text[at : found.start()])
        yield Token("link_open", "a", 1, attrs={"href": address})
        yield Token("text", "", 0, content=found[0])
        yield Token("link_close", "a", -1)
        at = found.end()
    yield Token("text", "", 0, content=text[at:])


def sources(citations: Sequence[Mapping[str, Any]], links: Mapping[str, str]) -> None:
    """A line for each source: its label and where it is."""
    if not is_styled():
        for each in citations:
            tell(f"  [{each['label']}] {named(cited_of(each))}")
        return
    from rich.text import Text  # noqa: PLC0415 - see above

    for each in citations:
        link = links.get(each["label"])
        label = Text(f"[{safe(each['label'])}]", f"cyan link {link}" if link else "cyan")
        screen().print(Text("  ").append_text(label).append(f" {safe(named(cited_of(each)))}", "dim"))
