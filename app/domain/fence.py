"""Whether a Markdown text ends inside a fenced code block (CommonMark §4.5), so that what is put behind it is
read as text. Linear. Nothing here raises.
"""

import re

FENCE = re.compile(r"([ \t>]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)*+)(`{3,}+|~{3,}+)(.*+)")
"""A line that opens a fence, or closes one; in a list or a quotation, too."""


def closing(text: str) -> str:
    """What closes the fence that is open at the end of a text, on lines of its own; "" where none is. As deep
    as that fence stands: at the margin it would end a list, and open another."""
    opened = margin = ""
    for found in filter(None, map(FENCE.match, text.splitlines())):
        before, run, rest = found.groups()
        if not opened:
            opened = "" if run[0] == "`" and "`" in rest else run
            margin = re.sub(r"[^>\s]", " ", before)
        elif run.startswith(opened) and not rest.strip():
            opened = ""
    return f"\n{margin}{opened}\n" if opened else ""
