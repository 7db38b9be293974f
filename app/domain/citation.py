"""Citations in the model's text, checked while it streams (CONTRACT §0): what was not packed never leaves.

Code passes untouched (`domain/markdown.py` says what is code). Elsewhere every `]` is judged against what
stands before it in the *output*, so that taking one marker out cannot make another. The output does not
depend on the deltas. Lengths are in characters. Nothing here raises.
"""

import re
from collections.abc import Iterable, Sequence

from app.domain.label import LABEL_MAX
from app.domain.markdown import LINK_MAX, RUN_MAX, Code, Mode, links
from app.domain.marker import Marker, catalogue, read
from app.domain.passage import Passage
from app.domain.tail import Tail

OPEN, CLOSE, TICKS, GROWING = "[【［", "]】］", "`~", "`~\r"
TOKEN = re.compile(rf"[\[【［\]】］]|\r?\n|\r|`{{1,{RUN_MAX}}}|~{{1,{RUN_MAX}}}")
SPECIAL = re.compile(r"[\[【［\]】］\n\r`~]|[ \t\u00a0\u202f\\]\Z")
"""What plain text lacks; a blank or backslash at its end may belong to a marker to come."""
PAIR = re.compile(r"\[([^\[\]]{1,160})\]")
COMPLETE = re.compile(r"(.*)[,;、]\s*", re.DOTALL)


class CitationFilter:
    """Feed it deltas, send what it gives, ask for the rest with `end()`; then it is spent."""

    def __init__(self, labels: Iterable[str]) -> None:
        self.cited: list[str] = []
        """Packed labels that left, distinct, in order of first appearance."""
        self.unknown: list[str] = []
        """Labels that did not, likewise."""
        self._known = catalogue(labels)
        self._rest = ""
        """Not yet read, from `_at` on."""
        self._at = 0
        self._final = False
        self._tail = Tail()
        self._code = Code()

    def feed(self, delta: str) -> str:
        """The text that may leave now. An open bracket waits at most 160 characters."""
        calm = not (self._tail.held or self._rest or self._code.mode is Mode.EDGE)
        if calm and not SPECIAL.search(delta):
            self._tail.skip(delta)
            return delta
        self._rest += delta
        self._read()
        return self._tail.released()

    def end(self) -> str:
        """What was still held."""
        self._final = True
        self._read()
        if self._code.mode is Mode.SPAN:
            self._doubt()
            self._read()
        return self._tail.released() + self._tail.held

    def _read(self) -> None:
        """Token by token, as far as can be judged without what comes next."""
        while self._at < len(self._rest):
            found = TOKEN.search(self._rest, self._at)
            stop = found.start() if found else len(self._rest)
            if stop > self._at:
                self._pass(stop)
            elif found and not self._judge(found.group()):
                break
            if self._tail.age >= LABEL_MAX:
                self._overflow()
            self._tail.flush()
        self._rest, self._at = self._rest[self._at :], 0

    def _pass(self, stop: int) -> None:
        """Plain text up to `stop`, or as much as an open bracket may hold."""
        if self._tail.anchor is not None:
            stop = min(stop, self._at + LABEL_MAX - self._tail.age)
        text, self._at = self._rest[self._at : stop], stop
        self._code.text(text)
        self._tail.put(text)

    def _judge(self, token: str) -> bool:
        """One token; False: what it means depends on what comes next."""
        if self._growing(token):
            return False
        self._code.token(token, self._tail.head)
        if token in CLOSE and self._tail.opens and self._code.prose:
            return self._close(token)
        if self._code.mode is Mode.SPAN and self._unclosed(token):
            self._doubt()
            return True
        self._at += len(token)
        self._take(token)
        return True

    def _growing(self, token: str) -> bool:
        """Whether the next delta may make a longer token of the last one."""
        last = self._at + len(token) == len(self._rest) and not self._final
        return last and token[0] in GROWING and len(token) < RUN_MAX

    def _unclosed(self, token: str) -> bool:
        """Whether a span does not reach beyond this token."""
        return len(token) == RUN_MAX or (token.isspace() and not self._code.fence)

    def _take(self, token: str) -> None:
        """A token that closes nothing."""
        if token.isspace():
            self._newline(token)
        elif token[0] in TICKS:
            self._ticks(token)
        else:
            self._open(token)

    def _newline(self, token: str) -> None:
        """A line ends: no marker crosses it."""
        head = self._tail.head
        self._tail.opens.clear()
        self._tail.mark = None
        self._tail.newline(token)
        self._code.newline(head)

    def _ticks(self, run: str) -> None:
        """Backticks or tildes."""
        tail = self._tail
        if tail.hole == len(tail.held) and tail.before.endswith(run[0]):
            tail.put(" ")  # a marker taken out must not join two runs into one that means something else
        self._code.ticks(run, tail.head, tail.before)
        if self._code.mode is not Mode.SPAN and tail.mark is not None:
            self._note(tail.held[tail.mark :])
            tail.mark = None
        tail.put(run)

    def _note(self, code: str) -> None:
        """Packed labels in inline code count as cited: some models write all of theirs so."""
        for inner in PAIR.findall(code):
            marker = read(inner, self._known)
            self._count(marker.cited if marker else (), ())

    def _count(self, cited: Iterable[str], unknown: Iterable[str]) -> None:
        """Each label once."""
        self.cited += [name for name in cited if name not in self.cited]
        self.unknown += [name for name in unknown if name not in self.unknown]

    def _open(self, token: str) -> None:
        """A bracket, unless it closes one: in a span it is read once that has closed, or has not."""
        tail, here = self._tail, len(self._tail.held)
        if self._code.mode is Mode.SPAN:
            tail.mark = here if tail.mark is None else tail.mark
        elif token in OPEN and self._code.prose:
            tail.opens = [*(place for place in tail.opens if here - place <= LABEL_MAX), here]
        tail.put(token)

    def _close(self, token: str) -> bool:
        """A bracket that closes the innermost open one: is that a marker? False: wait for what follows."""
        content = self._tail.held[self._tail.opens[-1] + 1 :]
        marker = read(content, self._known)
        if marker and marker.text != f"[{content}]":
            linked = self._linked(content, marker)
            if linked is None:
                return False
            if linked:  # a link stays as it is, also one that is called like a label
                self._count(marker.cited, ())
                marker = None
        marker = marker or self._emptied(content)
        self._at += 1
        if marker:
            self._settle(marker)
        else:
            # Brackets around brackets that stay have no label's form.
            self._tail.opens.clear()
            self._tail.put(token)
        return True

    def _linked(self, content: str, marker: Marker) -> bool | None:
        """Whether the innermost brackets are a link's text; None: wait for what follows."""
        place = self._tail.opens[-1]
        before = self._tail.held[:place]
        escaped = (len(before) - len(before.rstrip("\\"))) % 2 or content.endswith("\\")
        if escaped or self._tail.held[place] != "[" or self._rest[self._at] != "]":
            return False
        # A label that can be nothing else is no link by reference: those may never be told an address.
        ahead = self._rest[self._at + 1 :][:LINK_MAX]
        return links(ahead, referred=not marker.sure, final=self._final)

    def _emptied(self, content: str) -> Marker | None:
        """The brackets around a marker taken out, if nothing else is left between them: they go too."""
        if self._tail.hole == len(self._tail.held) and not content.strip():
            return Marker((), ())
        return None

    def _settle(self, marker: Marker, *, more: str = "") -> None:
        """The innermost bracket gives way to what may leave of it; if nothing, its leading blank goes too.
        `more` is opened anew behind it."""
        tail = self._tail
        place = tail.opens.pop()
        place -= tail.held[:place].endswith("\\")
        tail.retract(place if marker.text or more else tail.lead(place))
        tail.hole = len(tail.held)
        self._count(marker.cited, marker.unknown)
        if marker.text:
            tail.opens.clear()
            tail.put(marker.text + " " * bool(more))
        if more:
            tail.opens.append(len(tail.held))
            tail.put(more)

    def _overflow(self) -> None:
        """160 characters and not closed: no label. Of a long group, what is complete is settled."""
        if self._tail.mark is not None:
            self._doubt()
            return
        content = self._tail.held[self._tail.opens[-1] + 1 :]
        group = None if "`" in content else COMPLETE.match(content)
        marker = read(group[1], self._known) if group else None
        if group and marker:
            self._settle(marker, more="[" + content[group.end() :])
        else:
            self._tail.opens.clear()

    def _doubt(self) -> None:
        """The backticks did not close: the brackets behind them are read again, as text."""
        self._code.doubt()
        mark, self._tail.mark = self._tail.mark, None
        if mark is not None:
            self._rest, self._at = self._tail.retract(mark) + self._rest[self._at :], 0


def appended(passages: Sequence[Passage]) -> tuple[str, list[str]]:
    """What is sent where context was used and nothing was cited: (` Sources: [a.pdf#1] …`, its labels).

    Most similar first, at most three; those that were not chosen by meaning come last.
    """
    ranked = sorted(passages, key=lambda one: (one.similarity is None, -(one.similarity or 0.0)))
    labels = list(dict.fromkeys(passage.label for passage in ranked))[:3]
    return "".join([" Sources:", *(f" [{name}]" for name in labels)]) if labels else "", labels
