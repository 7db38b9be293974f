"""The citation filter: checks labels in the model's text while it streams, and removes unknown ones.

A label has the form `name#id` (`report.pdf#3`, `app/main.py#L10-42`; not `issue #12` or `C#`). Code passes
unchanged: fenced, indented and inline code as in CommonMark (§4.4, §4.5, §6.1); ambiguous text does not count
as code. Each `]` is judged against the text before it in the output, so removing one marker cannot create
another, and the output does not depend on how the text was split into deltas. Characters.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Literal, NamedTuple

from app.text.labels import LABEL_MAX, key, label
from app.types import Passage

ID = r"\w[^\s#,;、†(){}<>|\"=/`]*"
FORM = rf"[^#]*[^#\s]#{ID}"
PIECE = re.compile(
    rf"\s*(?P<label>{FORM})(?:\s*†[^,;、#]*)?(?:\s*(?:[,;、|&+]|\band\b)|\s*$|\s+(?={FORM}))"
    r"|\s*(?P<remark>[^,;、]*)[,;、]?"
)
"""One label of a group with its separator (`†source` is how some models end theirs), or a remark beside the
labels. Matches anywhere."""
INNER = re.compile(r"[,;:、]\s*")
NUMBER = re.compile(r"#?(\d+)")
SURE = re.compile(
    r".*(?:\.\w{1,10}#\w.*|(?:memory|conversation|dream)#\w.*|#(?=[a-z]*\d)[0-9a-z]{8}|#L\d+(?:-\d+)?)",
    re.DOTALL,
)
"""Labels that only a citation has: a file's name, one of our kinds, an id8, lines of code."""
WRAPPERS = " \t\u00a0*`\"'"
UNBRACKET = str.maketrans("[]【】", "()()")


class CitationMark(NamedTuple):
    """A citation in the output: `text[start:end]` is `[label]`."""

    label: str
    start: int
    end: int
    written: Literal["", "code", "link"] = ""
    """Of inline code or a link, which are not changed: the brackets are as the model wrote them."""


def marks_of(labels: Iterable[str], at: int) -> list[CitationMark]:
    """The marks of `[a.pdf#1] [b.pdf#4]` at a place of the output."""
    found: list[CitationMark] = []
    for name in labels:
        found.append(CitationMark(name, at, at + len(name) + 2))
        at = found[-1].end + 1
    return found


@dataclass(frozen=True, slots=True)
class Marker:
    cited: tuple[str, ...]
    """Packed labels, in their packed form."""
    unknown: tuple[str, ...]
    """Labels that were not packed, as written."""
    remark: str = ""
    """Text beside the labels: `page 3` of `[a.pdf#1, page 3]`."""

    @property
    def sure(self) -> bool:
        """True if it can only be a citation; decides about the text of a Markdown link."""
        return bool(self.cited) or any(SURE.fullmatch(name) for name in self.unknown)

    @property
    def text(self) -> str:
        if not self.cited:
            return ""
        remark = f" ({self.remark})" if self.remark else ""
        return " ".join(f"[{name}]" for name in self.cited) + remark


def catalogue(labels: Iterable[str]) -> dict[str, str]:
    """Packed labels by spelling, and by canonical form (case, width, invisible characters)."""
    exact = {name: name for name in labels}
    return {key(name): name for name in exact} | exact


def read(content: str, known: Mapping[str, str]) -> Marker | None:
    """The text between two brackets as a marker; None: no citation, the text passes unchanged."""
    if "#" not in content and content.isascii():
        return None
    plain = _clean(content)
    whole = _look(content, known) or _look(plain, known)
    if whole:
        return Marker((whole,), ())
    labels, remarks = _items(plain, known)
    if not labels:
        return None
    cited = dict.fromkeys(found for name in labels if (found := _find(name, known)))
    unknown = dict.fromkeys(name.strip(WRAPPERS) for name in labels if not _find(name, known))
    return Marker(tuple(cited), tuple(unknown), "; ".join(remarks))


def _clean(content: str) -> str:
    plain = content.replace("\\", "")
    if not plain.isascii():
        folded = unicodedata.normalize("NFKC", plain)
        plain = "".join(sign for sign in folded if unicodedata.category(sign) != "Cf")
    return plain.translate(UNBRACKET).strip(" *`")


def _items(plain: str, known: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """(labels, remarks beside them); `2` of `[a.pdf#1, 2]` is a label if packed."""
    labels: list[str] = []
    remarks: list[str] = []
    for piece in PIECE.finditer(plain):
        if piece["label"]:
            labels.append(piece["label"])
        else:
            _beside(piece["remark"].strip(), labels, remarks, known)
    return labels, remarks


def _beside(remark: str, labels: list[str], remarks: list[str], known: Mapping[str, str]) -> None:
    number = NUMBER.fullmatch(remark)
    short = label(labels[-1].rpartition("#")[0], number[1]) if labels and number else ""
    if _find(short, known):
        labels.append(short)
    elif remark:
        remarks.append(remark)


def _find(name: str, known: Mapping[str, str]) -> str | None:
    """The packed label that is meant, also after a lead-in, as in `[Source: a.pdf#1]`."""
    found = _look(name, known)
    for lead in INNER.finditer(name):
        found = found or _look(name[lead.end() :], known)
    return found


def _look(name: str, known: Mapping[str, str]) -> str | None:
    """The packed label with this spelling or canonical form, ignoring emphasis and quotes around it."""
    bare = name.strip(WRAPPERS)
    return known.get(name) or known.get(key(name)) or known.get(bare) or known.get(key(bare))


LEADS = (" ", "\t", "\u00a0", "\u202f")
"""A removed marker takes one of these before it along."""
HEAD_MAX = 512
"""Characters kept of a line; the first few decide whether a fence begins."""
ESCAPES_MAX = 160
"""Most backslashes in a row that are held; beyond, the first leave in pairs, which keeps their parity.
Otherwise each new one would reread the whole run."""


class Tail:
    """Text that is read but not sent yet."""

    def __init__(self) -> None:
        self.held = ""
        self.opens: list[int] = []
        """Places of brackets that may still become markers, innermost last."""
        self.mark: int | None = None
        """Place from which everything is held until inline code closes."""
        self.coded = False
        """True after backticks that may open inline code."""
        self.hole = -1
        """Place of the last removal."""
        self.head = ""
        """Beginning of the current line."""
        self.sent = 0
        """Characters of the output before `held`."""
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
        anchor = self.anchor
        return 0 if anchor is None else len(self.held) - anchor

    @property
    def before(self) -> str:
        """The text before the next character, with enough of its backslashes to keep their parity."""
        return self.held or self._last

    def skip(self, text: str) -> None:
        if len(self.head) < HEAD_MAX:
            self.head += text
        self._last = text[-1:] or self._last
        self.sent += len(text)

    def put(self, text: str) -> None:
        self.held += text
        if len(self.head) < HEAD_MAX:
            self.head += text

    def newline(self, token: str) -> None:
        self.held += token
        self.head = ""

    def retract(self, place: int) -> str:
        taken, self.held = self.held[place:], self.held[:place]
        if len(self.head) < HEAD_MAX:
            self.head = self.head[: len(self.head) - len(taken)]
        return taken

    def lead(self, place: int) -> int:
        """`place`, or the blank before it that is removed with it."""
        return place - 1 if self.held[:place][-1:] in LEADS else place

    def flush(self) -> None:
        """Release everything before the outermost anchor and its lead, which later text cannot change."""
        end = min([*self.opens[:1], *([] if self.mark is None else [self.mark]), len(self.held)])
        # A backslash may escape the bracket or backtick to come.
        bare = len(self.held[:end].rstrip("\\"))
        more = end - bare - ESCAPES_MAX
        keep = bare + more + more % 2 if more > 0 else self.lead(self._opening(self.lead(bare)))
        if keep <= 0:
            return
        self._out.append(self.held[:keep])
        self._last = self.held[keep - 1]
        self.held = self.held[keep:]
        self.sent += keep
        self.hole -= keep
        self.opens = [place - keep for place in self.opens]
        self.mark = None if self.mark is None else self.mark - keep

    def _opening(self, end: int) -> int:
        """`end`, or the beginning of the backticks before it: inline code leaves with those that open it."""
        start = len(self.held[:end].rstrip("`")) if self.coded else end
        return start if end - start <= RUN_MAX else end

    def released(self) -> str:
        text = "".join(self._out)
        self._out.clear()
        return text


RUN_MAX = 160
"""Longest distinguished run of backticks or tildes."""
HEAD = re.compile(r" {0,3}")
"""May precede a fence."""
NESTED = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*[ \t>]*")
"""Before a fence in a list or a quotation, whose extent depends on more than its own lines."""
LINK_MAX = 160
"""Characters read after a pair of brackets to recognise a link."""
INDENT = re.compile(r" {0,3}\t| {4}")
"""Beginning of indented code, after a blank line."""
HOLDER = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)]|:)(?:[ \t]|$)|\[\^)")
"""Beginning of a block that indented lines continue: an item of a list, a footnote, a definition."""
HEADING = re.compile(r"#{1,6}(?:[ \t]|$)")
LINK = re.compile(
    r"\((?:https?://|[ \t]*(?:<[^<>\n\\`]*>|[^\s<>()\\`]*(?:\([^\s<>()\\`]*\)[^\s<>()\\`]*)*)"
    r"(?:[ \t]+(?:\"[^\"\n\\`]*\"|'[^'\n\\`]*'))?[ \t]*\))"
)
"""Makes the brackets before it a link's text (§6.3). An http address need not end: it may never."""
LINK_BEGUN = re.compile(
    r"(?:\([ \t]*(?:<[^<>\n\\`]*(?:>[ \t]*(?:[\"'][^\n\\`]*)?)?|[^\s<>\\`]*(?:[ \t]+(?:[\"'][^\n\\`]*)?)?))?"
)
"""Prefix of LINK."""
REFERENCE = re.compile(r"\[(?!\^)[^\[\]\n#]*\]|:[ \t]+(?:<|https?://|[/#.])")
REFERENCE_BEGUN = re.compile(r"(?:\[(?!\^)[^\[\]\n#]*|:[ \t]*(?:h[tps:/]*)?)?")
"""Prefix of a link by reference, or of its definition."""


class Mode(Enum):
    PLAIN = auto()
    SPAN = auto()
    """After backticks that may open inline code."""
    WARY = auto()
    """They did not close on their line: until a blank line nothing counts as inline code."""
    FENCE = auto()
    EDGE = auto()
    """After a closing fence, if the line ends here."""


class Code:
    def __init__(self) -> None:
        self.mode = Mode.PLAIN
        self.fence = ""
        """Backticks at the head of this line: a fence, unless another backtick follows in the line."""
        self._run = ""
        """The backticks or tildes that opened the span or the fence."""
        self._indent = 0
        """Spaces before the fence: a list around it ends at a line with fewer."""
        self._lost = False
        self._blank = True
        """True if the line before is blank, indented code, or missing."""
        self._held = False
        """True if indented lines may belong to a list's item."""
        self._indented = False
        """True if this line is indented code, as far as it was read."""

    @property
    def prose(self) -> bool:
        return self.mode in {Mode.PLAIN, Mode.WARY} and not self._indented

    def text(self, text: str) -> None:
        """Text without backticks, tildes and line ends."""
        if self.mode is Mode.EDGE and text.strip(" \t"):
            self._lose()

    def token(self, token: str, head: str) -> None:
        """The next token of a line decides whether it is indented code, or still belongs to its fence."""
        if self.mode is Mode.PLAIN:
            self._indented = self._indents(head)
        line = head + token
        shallow = line.strip() and len(line) - len(line.lstrip(" ")) < self._indent
        trailing = self.mode is Mode.EDGE and not token.isspace()
        if trailing or (self.mode is Mode.FENCE and shallow):
            self._lose()

    def doubt(self) -> None:
        self.mode = Mode.WARY

    def newline(self, head: str) -> None:
        """At the end of the line `head`: a fence may begin or end, or a paragraph end."""
        self._remember(head)
        if self.fence:
            self._enclose(self.fence, head)
        elif self.mode is Mode.EDGE or (self.mode is Mode.WARY and not head.strip() and not self._lost):
            self.mode = Mode.PLAIN

    def ticks(self, run: str, head: str, before: str) -> None:
        """Backticks or tildes close what they opened, or may open a fence or inline code.

        `before` is the text right before them, with all backslashes.
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
        free = self._blank and not (self._held or self._lost)
        return free and INDENT.match(head) is not None

    def _remember(self, head: str) -> None:
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
        if run.startswith(self._run) and NESTED.fullmatch(head):
            self.mode = Mode.EDGE
            if not HEAD.fullmatch(head):
                self._lose()

    def _begin(self, run: str, head: str, before: str) -> None:
        fence = len(run) >= 3 and self._fenced(run, head)
        if self._lost:
            return
        if run[0] == "`":
            self._backticks(run, before, fence=fence)
        elif fence:
            self._enclose(run, head)

    def _fenced(self, run: str, head: str) -> bool:
        """True if the run may open a fence; an ambiguous one ends the recognition of code."""
        fence = HEAD.fullmatch(head) is not None
        if len(run) == RUN_MAX or (not fence and NESTED.fullmatch(head)):
            self._lose()
        return fence

    def _backticks(self, run: str, before: str, *, fence: bool) -> None:
        escaped = (len(before) - len(before.rstrip("\\"))) % 2
        self.fence, self._run = run if fence else "", run[escaped:]
        if self.mode is Mode.PLAIN and self._run:
            self.mode = Mode.SPAN

    def _enclose(self, run: str, head: str) -> None:
        self.mode, self._run, self.fence = Mode.FENCE, run, ""
        self._indent = len(head) - len(head.lstrip(" "))

    def _lose(self) -> None:
        self.mode, self._lost, self.fence = Mode.WARY, True, ""


def links(ahead: str, *, referred: bool, final: bool) -> bool | None:
    """True if the text after a pair of brackets makes it a link; None: more text is needed. `referred`: also
    by reference, which is certain only at the end of the text."""
    kinds = [(LINK, LINK_BEGUN), (REFERENCE, REFERENCE_BEGUN)][: 1 + referred]
    if any(kind.match(ahead) for kind, _ in kinds):
        return True
    if final or len(ahead) >= LINK_MAX or not any(begun.fullmatch(ahead) for _, begun in kinds):
        return False
    return None


OPEN, CLOSE, TICKS, GROWING = "[【［", "]】］", "`~", "`~\r"
TOKEN = re.compile(rf"[\[【［\]】］]|\r?\n|\r|`{{1,{RUN_MAX}}}|~{{1,{RUN_MAX}}}")
SPECIAL = re.compile(r"[\[【［\]】］\n\r`~]|[ \t\u00a0\u202f\\]\Z")
"""Stops plain text; a blank or backslash at its end may belong to a marker to come."""
PAIR = re.compile(r"\[([^\[\]]{1,160})\]")
COMPLETE = re.compile(r"(.*)[,;、]\s*", re.DOTALL)


class CitationFilter:
    """Call `feed` with each delta and send its result, then once `end()`."""

    def __init__(self, labels: Iterable[str]) -> None:
        self.cited: list[str] = []
        """Packed labels that were sent, distinct, in order of first appearance."""
        self.unknown: list[str] = []
        """Labels that were removed, likewise."""
        self.marks: list[CitationMark] = []
        """Where the output cites, in order."""
        self._known = catalogue(labels)
        self._rest = ""
        """Not yet read, from `_at` on."""
        self._at = 0
        self._final = False
        self._tail = Tail()
        self._code = Code()

    def feed(self, delta: str) -> str:
        """The text that can be sent now. An open bracket waits at most 160 characters."""
        calm = not (self._tail.held or self._rest or self._code.mode is Mode.EDGE)
        if calm and not SPECIAL.search(delta):
            self._tail.skip(delta)
            return delta
        self._rest += delta
        self._read()
        return self._tail.released()

    def end(self) -> str:
        self._final = True
        self._read()
        if self._code.mode is Mode.SPAN:
            self._doubt()
            self._read()
        return self._tail.released() + self._tail.held

    def _read(self) -> None:
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
        last = self._at + len(token) == len(self._rest) and not self._final
        return last and token[0] in GROWING and len(token) < RUN_MAX

    def _unclosed(self, token: str) -> bool:
        return len(token) == RUN_MAX or (token.isspace() and not self._code.fence)

    def _take(self, token: str) -> None:
        if token.isspace():
            self._newline(token)
        elif token[0] in TICKS:
            self._ticks(token)
        else:
            self._open(token)

    def _newline(self, token: str) -> None:
        head = self._tail.head
        self._tail.opens.clear()
        self._tail.mark = None
        self._tail.newline(token)
        self._code.newline(head)

    def _ticks(self, run: str) -> None:
        tail = self._tail
        if tail.hole == len(tail.held) and tail.before.endswith(run[0]):
            tail.put(" ")  # removing a marker must not join two runs of backticks
        self._code.ticks(run, tail.head, tail.before)
        tail.coded = self._code.mode is Mode.SPAN
        if self._code.mode is not Mode.SPAN and tail.mark is not None:
            self._note(tail.held[tail.mark :], tail.sent + tail.mark)
            tail.mark = None
        tail.put(run)

    def _note(self, code: str, at: int) -> None:
        """Packed labels in inline code count as cited: some models write all of theirs so."""
        for found in PAIR.finditer(code):
            marker = read(found[1], self._known)
            self._cite(marker.cited if marker else (), at + found.start(), at + found.end(), "code")

    def _cite(self, cited: Iterable[str], start: int, end: int, written: Literal["code", "link"]) -> None:
        """Labels in brackets that are sent as they are."""
        self._count(cited, ())
        self.marks += [CitationMark(name, start, end, written) for name in cited]

    def _count(self, cited: Iterable[str], unknown: Iterable[str]) -> None:
        self.cited += [name for name in cited if name not in self.cited]
        self.unknown += [name for name in unknown if name not in self.unknown]

    def _open(self, token: str) -> None:
        """A bracket that opens; within backticks it is read once they have closed, or not."""
        tail, here = self._tail, len(self._tail.held)
        if self._code.mode is Mode.SPAN:
            tail.mark = here if tail.mark is None else tail.mark
        elif token in OPEN and self._code.prose:
            tail.opens = [*(place for place in tail.opens if here - place <= LABEL_MAX), here]
        tail.put(token)

    def _close(self, token: str) -> bool:
        """Judge a bracket that closes the innermost open one. False: more text is needed."""
        content = self._tail.held[self._tail.opens[-1] + 1 :]
        marker = read(content, self._known)
        if marker and marker.text != f"[{content}]":
            linked = self._linked(content, marker)
            if linked is None:
                return False
            if linked:  # a link is not changed, even if its text looks like a label
                start = self._tail.sent + self._tail.opens[-1]
                self._cite(marker.cited, start, start + len(content) + 2, "link")
                marker = None
        marker = marker or self._emptied(content)
        self._at += 1
        if marker:
            self._settle(marker)
        else:
            # Brackets that contain brackets are no label.
            self._tail.opens.clear()
            self._tail.put(token)
        return True

    def _linked(self, content: str, marker: Marker) -> bool | None:
        """True if the innermost brackets are a link's text; None: more text is needed."""
        place = self._tail.opens[-1]
        before = self._tail.held[:place]
        escaped = (len(before) - len(before.rstrip("\\"))) % 2 or content.endswith("\\")
        if escaped or self._tail.held[place] != "[" or self._rest[self._at] != "]":
            return False
        # A certain label is no link by reference: the link's definition may never come.
        ahead = self._rest[self._at + 1 :][:LINK_MAX]
        return links(ahead, referred=not marker.sure, final=self._final)

    def _emptied(self, content: str) -> Marker | None:
        """Brackets that contain nothing else than a removed marker are removed too."""
        if self._tail.hole == len(self._tail.held) and not content.strip():
            return Marker((), ())
        return None

    def _settle(self, marker: Marker, *, more: str = "") -> None:
        """Replace the innermost bracket by the marker's output; if that is empty, its leading blank goes too.
        `more` is opened again after it."""
        tail = self._tail
        place = tail.opens.pop()
        place -= tail.held[:place].endswith("\\")
        tail.retract(place if marker.text or more else tail.lead(place))
        tail.hole = len(tail.held)
        self._count(marker.cited, marker.unknown)
        if marker.text:
            tail.opens.clear()
            self.marks += marks_of(marker.cited, tail.sent + len(tail.held))
            tail.put(marker.text + " " * bool(more))
        if more:
            tail.opens.append(len(tail.held))
            tail.put(more)

    def _overflow(self) -> None:
        """160 characters without a closing bracket: no label. Complete labels of a long group are settled."""
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
        """The backticks did not close: the brackets after them are read again, as text."""
        self._code.doubt()
        mark, self._tail.mark = self._tail.mark, None
        if mark is not None:
            self._rest, self._at = self._tail.retract(mark) + self._rest[self._at :], 0


SOURCES = " Sources: "


def appended(passages: Sequence[Passage]) -> tuple[str, list[str]]:
    """Appended if context was used and nothing was cited: (` Sources: [a.pdf#1] …`, its labels). At most
    three, most similar first; passages without similarity come last."""
    ranked = sorted(passages, key=lambda one: (one.similarity is None, -(one.similarity or 0.0)))
    labels = list(dict.fromkeys(passage.label for passage in ranked))[:3]
    return SOURCES + " ".join(f"[{name}]" for name in labels) if labels else "", labels


FENCE = re.compile(r"([ \t>]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)*+)(`{3,}+|~{3,}+)(.*+)")
"""A line that opens or closes a fence, also within a list or a quotation."""

INDENTED = re.compile(r"(?: {4}| {0,3}\t)[ \t]*\S")


def closing(text: str) -> str:
    """Closes the fence that is open at the end of a text; "" if none is. Indented like that fence: at the
    margin it would end a list and open another. Indented code ends with a blank line."""
    opened = margin = ""
    for found in filter(None, map(FENCE.match, text.splitlines())):
        before, run, rest = found.groups()
        if not opened:
            opened = "" if run[0] == "`" and "`" in rest else run
            margin = re.sub(r"[^>\s]", " ", before)
        elif run.startswith(opened) and not rest.strip():
            opened = ""
    if opened:
        return f"\n{margin}{opened}\n"
    # If the line is a list's paragraph and not code, a blank line does no harm.
    return "\n\n" if INDENTED.match(text.rpartition("\n")[2]) else ""
