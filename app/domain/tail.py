"""The end of a text that is being written: what something to come may still change is held back.

Places are characters from the start of what is held. Plain bookkeeping for `domain/citation.py`, which
decides what is opened, taken back and let go. Nothing here raises.
"""

LEADS = (" ", "\t", "\u00a0", "\u202f")
"""A marker that is taken out takes one of these before it along."""
HEAD_MAX = 512
"""Characters of a line that are kept; whether a fence begins is decided in the first few."""
ESCAPES_MAX = 160
"""Backslashes in a row that are held; of more the first leave in pairs, so that odd stays odd. Else a run
of them would be read again from its beginning with each that comes."""


class Tail:
    """Text written but not yet let go."""

    def __init__(self) -> None:
        self.held = ""
        self.opens: list[int] = []
        """Places of brackets that may still become markers, innermost last."""
        self.mark: int | None = None
        """Place from which all is held until inline code closes."""
        self.hole = -1
        """Place where something was last taken out."""
        self.head = ""
        """The current line, as far as it matters."""
        self._out: list[str] = []
        self._last = ""

    @property
    def anchor(self) -> int | None:
        """The place whose age counts; None: nothing waits."""
        if self.mark is not None:
            return self.mark
        return self.opens[-1] if self.opens else None

    @property
    def age(self) -> int:
        """Characters since the anchor; 0 without one."""
        anchor = self.anchor
        return 0 if anchor is None else len(self.held) - anchor

    @property
    def before(self) -> str:
        """What stands right before the next character: at least one character, and its
        backslashes (as odd or even as they are)."""
        return self.held or self._last

    def skip(self, text: str) -> None:
        """Note text that leaves without having been held."""
        if len(self.head) < HEAD_MAX:
            self.head += text
        self._last = text[-1:] or self._last

    def put(self, text: str) -> None:
        """Append."""
        self.held += text
        if len(self.head) < HEAD_MAX:
            self.head += text

    def newline(self, token: str) -> None:
        """End the line."""
        self.held += token
        self.head = ""

    def retract(self, place: int) -> str:
        """Take back everything from `place` on (on the current line); what it was."""
        taken, self.held = self.held[place:], self.held[:place]
        if len(self.head) < HEAD_MAX:
            self.head = self.head[: len(self.head) - len(taken)]
        return taken

    def lead(self, place: int) -> int:
        """`place`, or the one before it if the blank there would go along."""
        return place - 1 if self.held[:place][-1:] in LEADS else place

    def flush(self) -> None:
        """Let go of what nothing to come can change: all before the outermost anchor and its lead."""
        end = min([*self.opens[:1], *([] if self.mark is None else [self.mark]), len(self.held)])
        # A backslash may escape the bracket or backtick to come.
        bare = len(self.held[:end].rstrip("\\"))
        more = end - bare - ESCAPES_MAX
        keep = self.lead(bare) if more <= 0 else bare + more + more % 2
        if keep <= 0:
            return
        self._out.append(self.held[:keep])
        self._last = self.held[keep - 1]
        self.held = self.held[keep:]
        self.hole -= keep
        self.opens = [place - keep for place in self.opens]
        self.mark = None if self.mark is None else self.mark - keep

    def released(self) -> str:
        """What has been let go since last asked."""
        text = "".join(self._out)
        self._out.clear()
        return text
