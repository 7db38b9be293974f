"""Checks that functions over strangers' text take time in proportion to its length.

usage: python -m bench.linear
Each function gets hostile texts of 4,000 and of 32,000 characters (the longest message), made of one repeated
piece. Eight times the text should take about eight times as long; a pattern that backtracks takes 64 times.
For each function the worst piece is printed. Exit code 1 where a ratio exceeds 20 above 5 ms, three times.
"""

import sys
import time
from collections.abc import Callable, Mapping

from app.answer import Role, Turn
from app.answering.citations import CitationFilter
from app.answering.followup import refers, resolve
from app.answering.quotable import sentences as quotable
from app.ingest.chunking import fit
from app.ingest.code import sections
from app.ingest.secrets import is_secret, mask
from app.retrieval.ranking import is_test
from app.retrieval.tags import extract_tag_from_message, infer_query_tags
from app.services.memories import Echoes
from app.services.sentiment import marked_sentiment
from app.text.greeting import is_pure_reentry_greeting
from app.text.sanitise import one_line, quote, sanitise_name
from app.text.terms import terms
from app.vantage.checks import check
from app.vantage.features import extract_sd_features
from app.vantage.overlay import derive_params
from app.vantage.sentences import sentences
from app.vantage.terms import Decision, Limits, ResponseClass
from app.vantage.text import read
from bench.table import table

SHORT, LONG = 4_000, 32_000
"""Characters."""
ROUNDS = 3
"""A ratio that is too high is measured so often: a busy machine is no quadratic algorithm."""
RATIO, FLOOR = 20.0, 0.005
"""Factor that eight times the text may cost, and the seconds below which a clock says nothing."""

SIGNS = "aA1-_./:= \n\t'\"#([]`<|?>\\。日\u0301\ufdfa\ud800\u200b\U000e0041"
PIECES = (
    *SIGNS,
    *(
        "a ",
        "a. ",
        "a, ",
        ". ",
        '."',
        "...a",
        "1.1",
        "x ",
        "!?",
        "> ",
        "1. ",
        "- a\n",
        "- Q? ",
        "** ",
        "a\u0301",
    ),
    *("[a#1] ", "[a#b", "[a#1, ", "【a#1】", "`[", "x `` [", "Sources: ", "='", ":a@", "-a-", " = ", "a1A_"),
    *("sk-a-", "secretkey=", "secret='", "secret://a:", "AKIA", "eyJa.", "-eyJ", "http://a.b/c?d=e&"),
    *("-US", "U.S.", "C/C++", "IT ", "kill ", "k i l l  ", "kiiill ", "k1ll ", "ки\u217cl ", "\U0001f525!"),
    *("not ", "and ", "how do i ", "may ", "call ", "hi "),
)
"""Pieces of texts."""


def filtered(text: str) -> None:
    """The citation filter, fed in deltas of four characters."""
    one = CitationFilter(())
    for place in range(0, len(text), 4):
        one.feed(text[place : place + 4])
    one.end()


REFUSAL = Decision(ResponseClass.REFUSE, ("distress",), "1")
PARAMS = derive_params(extract_sd_features("", (), ""), Limits())

FUNCTIONS: Mapping[str, Callable[[str], object]] = {
    "citation filter": filtered,
    "follow-up": lambda text: (refers(text), resolve("and the second one?", [Turn(Role.USER, text)])),
    "greeting": is_pure_reentry_greeting,
    "probe": is_test,
    "tags": lambda text: (infer_query_tags(text), extract_tag_from_message(text)),
    "sentiment": marked_sentiment,
    "echo": lambda text: Echoes([text[:1_000]] * 5).own(text),
    "quote": quote,
    "one line": one_line,
    "name": sanitise_name,
    "secrets masked": mask,
    "secret file": is_secret,
    "terms": terms,
    "sentences of a chunk": lambda text: fit(text, 200, lambda piece: len(piece) // 4 + 1),
    "sections": lambda text: list(sections([text, "==="], "markdown")),
    "sentences to quote": quotable,
    "words weighed": read,
    "sentences weighed": sentences,
    "descriptors": lambda text: extract_sd_features(text, (), ""),
    "refusal checked": lambda text: check(text, REFUSAL, PARAMS, cited=(), tokens=9),
}


def seconds(work: Callable[[str], object], piece: str, size: int) -> float:
    """Processor time for a text of that size."""
    text = (piece * (size // len(piece) + 1))[:size]
    began = time.process_time()
    work(text)
    return time.process_time() - began


def growth(work: Callable[[str], object], piece: str) -> tuple[float, float]:
    """How many times longer the long text takes than the short one, and its seconds."""
    found = (RATIO, 0.0)
    for _ in range(ROUNDS):
        long = seconds(work, piece, LONG)
        found = long / max(seconds(work, piece, SHORT), FLOOR / 8), long
        if found[0] < RATIO or long < FLOOR:
            break
    return found


def main() -> int:
    """Measure all, print the worst piece of each; 1 where one grows faster than its text."""
    rows, slow = list[list[str]](), False
    for name, work in FUNCTIONS.items():
        work("warm up. " * 100)
        ratio, long, piece = max((*growth(work, piece), piece) for piece in PIECES)
        bad = ratio >= RATIO and long >= FLOOR
        slow = slow or bad
        rows.append([name, ascii(piece), f"{long * 1000:.1f}", f"{ratio:.1f}", "no" if bad else "yes"])
    print(table(["function", "worst piece", f"ms of {LONG:,}", f"× of {SHORT:,}", "linear"], rows))
    return int(slow)


if __name__ == "__main__":
    sys.exit(main())
