"""Reading one pair of brackets in a model's text: is it a citation, and of what?

A label's form (CONTRACT §0) is `name#id`: no bracket, `#` or line break in the name, no space on either
side of the `#`, the id one word that begins with a letter or digit. So `report.pdf#3`, `memory#k3v9q2ax`
and `app/main.py#L10-42` have it; `issue #12`, `#12`, `C#` and `C#.NET` have not. Nothing here raises.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from app.domain.label import key, label

ID = r"\w[^\s#,;、†(){}<>|\"=/`]*"
FORM = rf"[^#]*[^#\s]#{ID}"
PIECE = re.compile(
    rf"\s*(?P<label>{FORM})(?:\s*†[^,;、#]*)?(?:\s*(?:[,;、|&+]|\band\b)|\s*$|\s+(?={FORM}))"
    r"|\s*(?P<remark>[^,;、]*)[,;、]?"
)
"""One label of a group with what parts it from the next (`†source` is how some models end theirs), or what
stands beside the labels. Matches anywhere."""
INNER = re.compile(r"[,;:、]\s*")
NUMBER = re.compile(r"#?(\d+)")
SURE = re.compile(
    r".*(?:\.\w{1,10}#\w.*|(?:memory|conversation|dream)#\w.*|#(?=[a-z]*\d)[0-9a-z]{8}|#L\d+(?:-\d+)?)",
    re.DOTALL,
)
"""A label's form that nothing but a citation has: a file's name, a kind of ours, an id8, lines of code."""
WRAPPERS = " \t\u00a0*`\"'"
UNBRACKET = str.maketrans("[]【】", "()()")


@dataclass(frozen=True, slots=True)
class Marker:
    """What stood between a pair of brackets that cite something."""

    cited: tuple[str, ...]
    """Labels that were packed, as they were packed."""
    unknown: tuple[str, ...]
    """Labels that were not, as they were written."""
    remark: str = ""
    """What stood beside them: `page 3` of `[a.pdf#1, page 3]`."""

    @property
    def sure(self) -> bool:
        """Whether it can be nothing but a citation; a Markdown link's text is judged by it."""
        return bool(self.cited) or any(SURE.fullmatch(name) for name in self.unknown)

    @property
    def text(self) -> str:
        """What leaves in its place: one pair of brackets a label; "" where none was packed."""
        if not self.cited:
            return ""
        remark = f" ({self.remark})" if self.remark else ""
        return " ".join(f"[{name}]" for name in self.cited) + remark


def catalogue(labels: Iterable[str]) -> dict[str, str]:
    """Packed labels by their spelling, and by their look: case, width and the invisible do not matter."""
    exact = {name: name for name in labels}
    return {key(name): name for name in exact} | exact


def read(content: str, known: Mapping[str, str]) -> Marker | None:
    """What stands between two brackets; None: no citation, the text is to pass untouched."""
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
    """Without Markdown's escapes and what cannot be seen."""
    plain = content.replace("\\", "")
    if not plain.isascii():
        folded = unicodedata.normalize("NFKC", plain)
        plain = "".join(sign for sign in folded if unicodedata.category(sign) != "Cf")
    return plain.translate(UNBRACKET).strip(" *`")


def _items(plain: str, known: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """(what has a label's form, the remarks beside it); `2` of `[a.pdf#1, 2]` is a label if packed."""
    labels: list[str] = []
    remarks: list[str] = []
    for piece in PIECE.finditer(plain):
        if piece["label"]:
            labels.append(piece["label"])
        else:
            _beside(piece["remark"].strip(), labels, remarks, known)
    return labels, remarks


def _beside(remark: str, labels: list[str], remarks: list[str], known: Mapping[str, str]) -> None:
    """Put a remark where it belongs."""
    number = NUMBER.fullmatch(remark)
    short = label(labels[-1].rpartition("#")[0], number[1]) if labels and number else ""
    if _find(short, known):
        labels.append(short)
    elif remark:
        remarks.append(remark)


def _find(name: str, known: Mapping[str, str]) -> str | None:
    """The packed label that is meant; also behind a lead-in, as in `[Source: a.pdf#1]`."""
    found = _look(name, known)
    for lead in INNER.finditer(name):
        found = found or _look(name[lead.end() :], known)
    return found


def _look(name: str, known: Mapping[str, str]) -> str | None:
    """The packed label so spelt, or one that looks the same; emphasis and quotes around it do not count."""
    bare = name.strip(WRAPPERS)
    return known.get(name) or known.get(key(name)) or known.get(bare) or known.get(key(bare))
