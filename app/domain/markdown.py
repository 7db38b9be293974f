"""Where a reader of CommonMark sees code, told while the text is being written.

Fenced blocks (spec §4.5), indented code (§4.4) outside of lists, and inline code (§6.1) that closes on its
line. Where readers may disagree (a fence in a list, text behind what ends one, backticks that close a line
later) nothing counts as code any more: until a blank line for inline code, to the end for fences. `head` is
the current line so far, as it was written, not as it was read. HTML is not looked at. Nothing here raises.
"""

import re
from enum import Enum, auto

RUN_MAX = 160
"""Backticks or tildes in a row that are told apart; more are nobody's code."""
HEAD = re.compile(r" {0,3}")
"""What may stand before a fence."""
NESTED = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*[ \t>]*")
"""Before a fence in a list or a quote: how far it reaches depends on more than its own lines."""
LINK_MAX = 160
"""Characters behind a pair of brackets that are waited for."""
INDENT = re.compile(r" {0,3}\t| {4}")
"""What indented code begins with, behind a blank line."""
HOLDER = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)]|:)(?:[ \t]|$)|\[\^)")
"""A line that may begin what indented lines go on with: an item of a list, a footnote, a definition."""
HEADING = re.compile(r"#{1,6}(?:[ \t]|$)")
LINK = re.compile(
    r"\((?:https?://|[ \t]*(?:<[^<>\n\\`]*>|[^\s<>()\\`]*(?:\([^\s<>()\\`]*\)[^\s<>()\\`]*)*)"
    r"(?:[ \t]+(?:\"[^\"\n\\`]*\"|'[^'\n\\`]*'))?[ \t]*\))"
)
"""What makes a link's text of the brackets before it (§6.3). An http address need not end: it may never."""
LINK_BEGUN = re.compile(
    r"(?:\([ \t]*(?:<[^<>\n\\`]*(?:>[ \t]*(?:[\"'][^\n\\`]*)?)?|[^\s<>\\`]*(?:[ \t]+(?:[\"'][^\n\\`]*)?)?))?"
)
"""What may become one."""
REFERENCE = re.compile(r"\[(?!\^)[^\[\]\n#]*\]|:[ \t]+(?:<|https?://|[/#.])")
REFERENCE_BEGUN = re.compile(r"(?:\[(?!\^)[^\[\]\n#]*|:[ \t]*(?:h[tps:/]*)?)?")
"""The same of a link by reference, and of where its address is told."""


class Mode(Enum):
    """Where in the text the reader stands."""

    PLAIN = auto()
    SPAN = auto()
    """Behind backticks that may open inline code."""
    WARY = auto()
    """They did not close on their line: until a blank line nothing counts as inline code."""
    FENCE = auto()
    EDGE = auto()
    """Behind what closes a fence, if the line ends here."""


class Code:
    """The state of one text."""

    def __init__(self) -> None:
        self.mode = Mode.PLAIN
        self.fence = ""
        """Backticks at the head of this line: a fence, if no other backtick follows in the line."""
        self._run = ""
        """The backticks or tildes that opened the span or the fence."""
        self._indent = 0
        """Spaces before the fence: a list it may belong to ends where a line has fewer."""
        self._lost = False
        self._blank = True
        """Whether the line before is blank, or indented code, or there is none."""
        self._held = False
        """Whether indented lines may belong to a list's item."""
        self._indented = False
        """Whether this line is indented code, as far as it is known."""

    @property
    def prose(self) -> bool:
        """Whether this is certainly no code."""
        return self.mode in {Mode.PLAIN, Mode.WARY} and not self._indented

    def text(self, text: str) -> None:
        """Text without backticks, tildes and line ends."""
        if self.mode is Mode.EDGE and text.strip(" \t"):
            self._lose()

    def token(self, token: str, head: str) -> None:
        """Whatever comes next in a line: is it indented code, or does it still belong to its fence?"""
        if self.mode is Mode.PLAIN:
            self._indented = self._indents(head)
        line = head + token
        shallow = line.strip() and len(line) - len(line.lstrip(" ")) < self._indent
        trailing = self.mode is Mode.EDGE and not token.isspace()
        if trailing or (self.mode is Mode.FENCE and shallow):
            self._lose()

    def doubt(self) -> None:
        """The span did not close."""
        self.mode = Mode.WARY

    def newline(self, head: str) -> None:
        """The line `head` ends: a fence may begin or end, or a paragraph end."""
        self._remember(head)
        if self.fence:
            self._enclose(self.fence, head)
        elif self.mode is Mode.EDGE or (self.mode is Mode.WARY and not head.strip() and not self._lost):
            self.mode = Mode.PLAIN

    def ticks(self, run: str, head: str, before: str) -> None:
        """Backticks or tildes: they close what they opened, or may open a fence or inline code.

        `before` is what stands right before them, all backslashes included.
        """
        if self._indented:
            return
        if self.mode is Mode.FENCE:
            self._within(run, head)
        elif self.mode is Mode.SPAN:
            self.fence = "" if run[0] == "`" else self.fence
            self.mode = Mode.PLAIN if run == self._run else Mode.SPAN
        else:
            self._begin(run, head, before)

    def _indents(self, head: str) -> bool:
        """Whether the line `head` is indented code."""
        free = self._blank and not (self._held or self._lost)
        return free and INDENT.match(head) is not None

    def _remember(self, head: str) -> None:
        """What the line that ends means for the next one."""
        code = self.mode is Mode.PLAIN and bool(head.strip()) and self._indents(head)
        self._indented = False
        if self.mode is Mode.FENCE or code:
            return
        if not head.strip():
            self._blank = True
            return
        if HOLDER.match(head):
            self._held = True
        elif not head[0].isspace() and (self._blank or HEADING.match(head)):
            self._held = False
        self._blank = False

    def _within(self, run: str, head: str) -> None:
        """In a fence."""
        if run.startswith(self._run) and NESTED.fullmatch(head):
            self.mode = Mode.EDGE
            if not HEAD.fullmatch(head):
                self._lose()

    def _begin(self, run: str, head: str, before: str) -> None:
        """Outside code."""
        fence = len(run) >= 3 and self._fenced(run, head)
        if self._lost:
            return
        if run[0] == "`":
            self._backticks(run, before, fence=fence)
        elif fence:
            self._enclose(run, head)

    def _fenced(self, run: str, head: str) -> bool:
        """Whether as many may open a fence; where readers disagree, nothing counts as code any more."""
        fence = HEAD.fullmatch(head) is not None
        if len(run) == RUN_MAX or (not fence and NESTED.fullmatch(head)):
            self._lose()
        return fence

    def _backticks(self, run: str, before: str, *, fence: bool) -> None:
        """A span begins, or perhaps a fence: the rest of the line tells."""
        escaped = (len(before) - len(before.rstrip("\\"))) % 2
        self.fence, self._run = run if fence else "", run[escaped:]
        if self.mode is Mode.PLAIN and self._run:
            self.mode = Mode.SPAN

    def _enclose(self, run: str, head: str) -> None:
        """A fence begins."""
        self.mode, self._run, self.fence = Mode.FENCE, run, ""
        self._indent = len(head) - len(head.lstrip(" "))

    def _lose(self) -> None:
        """From here on nothing counts as code."""
        self.mode, self._lost, self.fence = Mode.WARY, True, ""


def links(ahead: str, *, referred: bool, final: bool) -> bool | None:
    """Whether what follows a pair of brackets makes a link of it; None: more has to come. `referred`: by
    reference, too, which nobody can be sure of before the text ends."""
    kinds = [(LINK, LINK_BEGUN), (REFERENCE, REFERENCE_BEGUN)][: 1 + referred]
    if any(kind.match(ahead) for kind, _ in kinds):
        return True
    if final or len(ahead) >= LINK_MAX or not any(begun.fullmatch(ahead) for _, begun in kinds):
        return False
    return None
