"""Where a reader of CommonMark sees code, told while the text is being written.

Fenced blocks (spec §4.5), and inline code (§6.1) that closes on its line. Where readers may disagree (a fence
in a list, text behind what ends one, backticks that close a line later) nothing counts as code any more:
until a blank line for inline code, to the end for fences. `head` is the current line so far, as it was
written, not as it was read. Indented code and HTML are not looked at. Nothing here raises.
"""

import re
from enum import Enum, auto

RUN_MAX = 160
"""Backticks or tildes in a row that are told apart; more are nobody's code."""
HEAD = re.compile(r" {0,3}")
"""What may stand before a fence."""
NESTED = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*[ \t>]*")
"""Before a fence in a list or a quote: how far it reaches depends on more than its own lines."""


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

    @property
    def prose(self) -> bool:
        """Whether this is certainly no code."""
        return self.mode in {Mode.PLAIN, Mode.WARY}

    def text(self, text: str) -> None:
        """Text without backticks, tildes and line ends."""
        if self.mode is Mode.EDGE and text.strip(" \t"):
            self._lose()

    def token(self, token: str, head: str) -> None:
        """Whatever comes next in a fence: does its line still belong to it?"""
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
        if self.fence:
            self._enclose(self.fence, head)
        elif self.mode is Mode.EDGE or (self.mode is Mode.WARY and not head.strip() and not self._lost):
            self.mode = Mode.PLAIN

    def ticks(self, run: str, head: str, before: str) -> None:
        """Backticks or tildes: they close what they opened, or may open a fence or inline code.

        `before` is what stands right before them, all backslashes included.
        """
        if self.mode is Mode.FENCE:
            self._within(run, head)
        elif self.mode is Mode.SPAN:
            self.fence = "" if run[0] == "`" else self.fence
            self.mode = Mode.PLAIN if run == self._run else Mode.SPAN
        else:
            self._begin(run, head, before)

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
