"""Whether a Markdown text ends inside a code block, fenced (CommonMark §4.5) or indented (§4.4), so that what
is put behind it is read as text. Linear. Nothing here raises.
"""

import re

FENCE = re.compile(r"([ \t>]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)*+)(`{3,}+|~{3,}+)(.*+)")
"""A line that opens a fence, or closes one; in a list or a quotation, too."""

INDENTED = re.compile(r"(?: {4}| {0,3}\t)[ \t]*\S")


def closing(text: str) -> str:
    """What closes the fence that is open at the end of a text, on lines of its own; "" where none is. As deep
    as that fence stands: at the margin it would end a list, and open another. Indented code ends with a blank
    line."""
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
    # Where the line is no code but a paragraph of a list, a blank line does no harm.
    return "\n\n" if INDENTED.match(text.rpartition("\n")[2]) else ""
