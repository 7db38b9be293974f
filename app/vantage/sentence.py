"""A text as its sentences, with what a question looks like in any script.

A sentence ends at `. ! ? …` before a blank or a line's end, at their full-width and other forms anywhere, and
with its line. Code in fences is one sentence a line and never a question. Linear, whatever the text. Lengths
are in characters. Nothing here raises.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from app.domain.phrases import LONGEST, words
from app.domain.tongue import words as wordset

ASKING = frozenset("?？؟‽⁇⁈⁉⸮፧߹꘏\u037e")
"""Marks of a question; the last is Greek's, which looks like a semicolon."""
GREEK = re.compile(r"[\u0370-\u03ff\u1f00-\u1fff]")
ALWAYS = frozenset("。！？｡…．")
"""Marks that need no blank behind them."""
# A run of marks is taken whole and looked at afterwards: nothing here can be tried twice.
MARKS = r"[.!?…。！？｡．؟‽⁇⁈⁉⸮։።፧߹꘏।\u037e{}]++[\"'”’»)\]）」』*_~]*+"
END, GREEK_END = re.compile(MARKS.format("")), re.compile(MARKS.format(";"))
BULLET = re.compile(r"(?:[-*+•–—·▪◦>]|#{1,6}|\(?\d{1,3}[.)、]|[A-Za-z][)])\s++(?=\S)")
"""What a line of a list, a quotation or a heading begins with."""
FENCE = ("```", "~~~")
LETTER, LETTERED = re.compile(r"[^\W\d]\."), re.compile(r"(?<!\w)[^\W\d]\.$")
"""`z. B.`, `d. h.`: a letter and its full stop, beside another."""
SHORTENED = wordset(
    "e.g i.e eg ie cf vs dr mr mrs ms prof st no nr fig vol approx etc z.b d.h bzw usw ca ggf evtl sr sra dra"
    " p.ej ej ud m mme a.m p.m u.s u.k"
)
"""What ends in a full stop, and no sentence with it."""
ARMENIAN = "՞"
"""Stands inside the word that is asked for."""
PIECE = LONGEST // 4
"""Characters whose words are read at once."""
UNMARKED = (
    *(
        "か。",
        "か｡",
        "かな。",
        "の。？",
        "ですか",
        "ますか",
        "ましたか",
        "でしたか",
        "でしょうか",
        "ましょうか",
    ),
    *("ませんか", "だろうか", "のか", "かな", "ไหม", "มั้ย", "ไหมครับ", "ไหมคะ", "ไหมค่ะ", "หรือไม่", "หรือเปล่า"),
    *("หรือเปล่าครับ", "หรือเปล่าคะ", "อะไรครับ", "อะไรคะ", "อะไร", "ที่ไหน", "อย่างไร", "คะ"),
)
"""How Japanese and Thai ask without a mark."""
SPANISH = "¿"
"""Opens a question, whose end a model may forget."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One, as it stands, its marks included and blanks around it left out."""

    text: str
    line: int
    bullet: str = ""
    """Of the line that it begins: `1.`, `-`."""
    code: bool = False

    @property
    def asks(self) -> bool:
        """Whether it is a question: it ends as one, and holds a word."""
        if self.code or not any(map(str.isalnum, self.text)):
            return False
        ending = self.text[-20:].rstrip("\"'”’»)]）」』*_~ ")
        marks = ending[len(ending.rstrip(".!…?？؟‽⁇⁈⁉⸮፧߹꘏\u037e;！")) :]
        greek = ";" in marks and GREEK.search(self.text) is not None
        if greek or ASKING.intersection(marks) or ARMENIAN in self.text:
            return True
        return ending.endswith(UNMARKED) or self.text.rfind(SPANISH) > self.text.rfind("?")


def sentences(text: str) -> list[Sentence]:
    """In reading order."""
    end = GREEK_END if GREEK.search(text) else END
    found: list[Sentence] = []
    fence = ""
    for number, row in enumerate(text.splitlines()):
        line = row.strip()
        opened = line[:3] if line.startswith(FENCE) else ""
        if fence or opened:
            found.append(Sentence(line, number, code=True))
            fence = (fence or opened) if not (fence and opened == fence) else ""
        elif line:
            found += _of_line(line, number, end)
    return found


def _of_line(line: str, number: int, end: re.Pattern[str]) -> Iterator[Sentence]:
    """Of one line outside code."""
    head = BULLET.match(line)
    bullet, begun = (head[0].strip(), head.end()) if head else ("", 0)
    for mark in end.finditer(line, begun):
        if _ends(line, begun, mark):
            yield Sentence(line[begun : mark.end()].strip(), number, bullet)
            bullet, begun = "", mark.end()
    if rest := line[begun:].strip():
        yield Sentence(rest, number, bullet)


def _ends(line: str, begun: int, mark: re.Match[str]) -> bool:
    """Whether marks end a sentence there."""
    behind = line[mark.end() : mark.end() + 2]
    if behind and not behind[0].isspace():
        return mark[0][0] in ALWAYS or not mark[0].isascii()
    if not set(mark[0]) <= set(".…"):
        return True
    head, _, last = line[max(begun, mark.start() - 8) : mark.start()].rpartition(" ")
    word = last.casefold().lstrip("(\"'")
    if len(word) == 1 and (LETTER.match(line, mark.end() + 1) or LETTERED.search(head)):
        return not behind
    return not behind or (word not in SHORTENED and not behind[1:].islower())


def said(text: str) -> list[str]:
    """The words of a text of any length, as tables of phrases read them, and the marks between clauses."""
    plain = text.replace("。", ". ").replace("．", ". ")
    return [word for at in range(0, len(plain), PIECE) for word in words(plain[at : at + PIECE])]
