"""A project's context as the model sees it: sections of entries, then one line an item with its label:
`[conversation#k3v9q2ax] THN Network Setup`.

An entry is `Passage.text`, as the project's profile writes it: Markdown of several lines, without what would
break that format, or the marks of chat templates (`app/projects/escape.py`). Of what is left prose could
forge the lines of a prompt: one that begins like a block or a label, with any bracket that citations are read
in, shows that bracket as JSON escapes it. Code stays to the letter: its fence tells what it is. Pure.
Source: CONTRACT §4, seeds 000-001; docs/decisions/0044.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from app.domain.passage import Passage
from app.domain.prompt import BREAK, Form
from app.domain.sanitise import one_line

HEADING, BETWEEN, NAME = "heading", "between", "name"
"""Fields of a passage that is an entry: its section's heading, what stands between two entries, and what it
is called in the line of its label."""
NAME_CHARACTERS = 120
"""Of a title, in the line of its label."""
OPEN, CLOSE, HASH = r"\[【［〔﹇", r"\]】］〕﹈", "#＃﹟"
"""The signs of labels, in all forms of `sanitise.PLAIN`."""
FORGED = re.compile(
    r"(?P<code>^(?P<fence>`{3,})[^`\n]*\n(?:[^\n]*\n)*?(?P=fence)$)"
    r"|^(?P<before>[^\S\n]*+(?:>[^\S\n]*+|(?:[-*+]|\d{1,9}[.)])[^\S\n]++)*+)"
    rf"(?P<sign>[{OPEN}])(?=(?:System|Context|Memory|User|Assistant|Policy|Cards|Thread)[{CLOSE}]"
    rf"|[^{OPEN}{CLOSE}\n]{{0,150}}[^{OPEN}{CLOSE}\s][{HASH}][0-9A-Za-z-]{{1,17}}[{CLOSE}])",
    re.MULTILINE,
)
"""A line that begins like a prompt's block or like the line of a label, behind quotes and marks of lists too;
or the fenced block of code (`escape.code`), which no line of prose can begin, nor any of its own close."""
LABELLED = re.compile(rf"[{OPEN}](?=[^{OPEN}{CLOSE}]{{0,150}}[{HASH}])")
"""What looks like a citation inside a name."""

MARKUP = re.compile(r"(?m)^(?:(?:- )?\*\*[^*\n]{1,40}:\*\* |- \*\*[^*\n]{1,40}\*\*: |`{3,}[^`\n]*$\n?)")
"""What a profile writes around a row's own words."""


def entry(passage: Passage, text: str, *, heading: str, between: str, name: str = "") -> Passage:
    """A passage that is shown as `text` in a section. `name`: "" for its title."""
    told = {HEADING: heading, BETWEEN: between, NAME: name or passage.title}
    return replace(passage, text=text, fields={**passage.fields, **told})


def entry_text(passage: Passage) -> str:
    """An entry without a line that could pass for the prompt's own."""
    return FORGED.sub(
        lambda found: found["code"] or f"{found['before']}\\u{ord(found['sign']):04x}", passage.text
    )


def label_line(passage: Passage) -> str:
    """`[conversation#k3v9q2ax] THN Network Setup`: what the item is cited by, and its name on that line."""
    name = one_line(str(passage.fields.get(NAME) or passage.title)[: 2 * NAME_CHARACTERS])
    name = name if len(name) <= NAME_CHARACTERS else name[:NAME_CHARACTERS] + "..."
    return f"[{passage.label}] {LABELLED.sub('(', name)}".rstrip()


def sections(passages: Sequence[Passage]) -> str:
    """The block: each section's heading and entries, one blank line apart, then the labels in that order."""
    parts = []
    for (heading, between), entries in groupby(passages, key=place):
        parts.append(BREAK.join(filter(None, (heading, between.join(map(entry_text, entries))))))
    return BREAK.join([*parts, "\n".join(map(label_line, passages))])


def place(passage: Passage) -> tuple[str, str]:
    """The section that an entry stands in."""
    heading, between = (passage.fields.get(name) for name in (HEADING, BETWEEN))
    return str(heading or ""), str(between or BREAK)


def plain(passage: Passage) -> Passage:
    """An entry without the names of its fields and its fences: what can be quoted of it."""
    return replace(passage, text=MARKUP.sub("", passage.text).strip())


PROJECT = Form("", label_line, whole=sections)
"""A project's context; `line` is what an item costs beside its entry."""
