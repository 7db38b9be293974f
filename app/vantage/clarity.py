"""What a message is like beside its risk: clarity, specificity, affect and breadth, each in [0, 1].

Clarity is about one thing: whether the message names anything at all. A content word, a name, a number, a
quotation name something, in any language; what the thread or the asker's own memory can answer, and small
talk, is clear too. "Fix it" is not. Counts over the first LONGEST tokens and the word lists of
`data/plain_words.txt`: linear, no model. Source: docs/contract.md. Nothing here raises.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from app.text.greeting import is_small_talk
from app.text.languages import words as wordset
from app.vantage.lexicon import word_lists
from app.vantage.terms import Finding
from app.vantage.text import ENDS, Text, between_marks, read

LONGEST = 1_000
"""Tokens that are counted: whoever narrows down, shouts or asks does it by then."""
UNNAMED = Finding("clarity", "clarity.unnamed", 0.85)
"""The message names nothing: nobody could tell what is wanted."""
RECALLED = Finding("clarity", "clarity.recalled", 0.35)
"""It names nothing, but the thread does."""
TURNS = 6
"""The newest turns that may tell what a word stands for."""
ARTICLES = wordset("a an the my our your his her their some any no which what")
"""Behind one of these an order is a noun: `my order`."""
PAIRED, OPENING = '"`', "“„«"
"""Signs of which two make a quotation, and signs that open one."""
FIRST = ENDS | {":"}
"""Behind these a sentence begins."""
SHOUT, MANY = 5, 4
"""Letters of a word in capitals that is no acronym; and signs of a kind that count at most."""
PICTURES = re.compile("[\u2600-\u27bf\U0001f300-\U0001faff]|:'?-?[()D]|;'?-?[()D]|<3")
STRETCHED = re.compile(r"([a-z])\1\1")
FAR = 1_000
"""Characters in which pictures and stretched letters are looked for."""
MARKS, BULLETS = frozenset("?？"), frozenset("-*•–")
LISTS, ENGLISH = "plain_words.txt", "empty en"
"""The file of the word lists; and the one to which orders belong."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The descriptors of a message that have nothing to do with harm."""

    clarity: float
    """1: it says what is wanted; 0: nobody could tell."""
    specificity: float
    affect: float
    breadth: float
    findings: tuple[Finding, ...] = ()
    """What took from clarity."""


def describe(message: str, text: Text, thread: Sequence[str] = ()) -> Reading:
    """The descriptors of a message, whose tokens are `text`, after the turns before it, oldest first."""
    found: tuple[Finding, ...] = ()
    if not (names_something(text) or about_persons(text) or talks(message)):
        known = any(names_something(read(turn)) for turn in thread[-TURNS:] if not talks(turn))
        found = (RECALLED if known else UNNAMED,)
    return Reading(
        clarity=round(1 - sum(finding.weight for finding in found), 4),
        specificity=round(specificity(message, text), 4),
        affect=round(affect(message, text), 4),
        breadth=round(breadth(text), 4),
        findings=found,
    )


def names_something(text: Text) -> bool:
    """True if a word is no function word, or is written as a name, or something is quoted."""
    if _quotes(text.folded):
        return True
    empty = [name for name in lists() if name.startswith("empty ")]
    before = ""
    for n, token in enumerate(text.tokens[:LONGEST]):
        word = token.lstrip("'")
        if word[:1].isalnum():
            empty = _empty_in(empty, word, before)
            if not empty or _named(text, n):
                return True
        before = word
    return False


def _quotes(folded: str) -> bool:
    """True if something stands between quotation marks."""
    return any(folded.count(sign) > 1 for sign in PAIRED) or any(sign in folded for sign in OPENING)


def _empty_in(languages: Sequence[str], word: str, before: str) -> list[str]:
    """Those of the languages' lists in which a word behind another names nothing; an order is empty too."""
    listed = lists()
    order = word in listed["orders"] and before not in ARTICLES
    return [name for name in languages if word in listed[name] or (order and name == ENGLISH)]


def talks(message: str) -> bool:
    """True if it is small talk, of words or of a picture; `?` alone is a question about nothing."""
    said = any(map(str.isalnum, message[:FAR])) or PICTURES.search(message[:FAR])
    return bool(said) and is_small_talk(message)


def _named(text: Text, n: int) -> bool:
    """True if a function word is written as a name within its sentence: `the film It`."""
    word = text.cased[n]
    return n > 0 and len(word) > 1 and word[0].isupper() and text.cased[n - 1].islower()


def about_persons(text: Text) -> bool:
    """True if it asks about the asker or the assistant (`who am I?`), which memory or the assistant knows."""
    listed = lists()
    said = [token.lstrip("'") for token in text.tokens[:LONGEST]]
    begun = next((n for n, word in enumerate(said) if word in listed["asking"]), len(said))
    asked = said[begun:]
    if asked[:1] == ["how"] and "i" in asked[2:3]:  # how do I …: instructions, and nobody knows for what
        return False
    return not listed["persons"].isdisjoint(asked) and listed["pointing"].isdisjoint(asked)


def specificity(message: str, text: Text) -> float:
    """How much narrows the answer down: n / (n + 4) over numbers, names, quotations and conditions."""
    listed, tokens, cased = lists(), text.tokens[:LONGEST], text.cased[:LONGEST]
    words = [word for word in tokens if word[0].isalnum()]
    capitals = [(before, word) for before, word in pairwise(cased) if word[0].isupper()]
    named = [word for before, word in capitals if len(word) > 1 and before not in FIRST]
    signs = 0.1 * len(words) + len(named) + sum(map(str.isdecimal, words))
    signs += 0.75 * sum(map(listed["condition"].__contains__, words))
    signs += 0.4 * sum(map(listed["constraint"].__contains__, words))
    quoted = sum(message.count(sign) // 2 for sign in PAIRED) + sum(message.count(sign) for sign in OPENING)
    signs += 1.5 * quoted
    return signs / (signs + 4)


def affect(message: str, text: Text) -> float:
    """How moved the asker is: n / (n + 2) over words of feeling, emphasis, shouting, pictures."""
    listed, tokens = lists(), text.tokens[:LONGEST]
    felt = sum(map(listed["feeling"].__contains__, tokens))
    stressed = sum(map(listed["emphasis"].__contains__, tokens))
    begun = message[:FAR]
    counts = (
        sum([len(word) >= SHOUT for word in filter(str.isupper, text.cased[:LONGEST])]),
        message.count("!") + message.count("！"),
        len(PICTURES.findall(begun)),
        len(STRETCHED.findall(begun)),
    )
    signs = felt + 0.25 * stressed + 0.5 * sum(min(MANY, count) for count in counts)
    return signs / (signs + 2)


def breadth(text: Text) -> float:
    """1 - 1/n for n distinct asks: questions, orders, items of a list, and what joins them."""
    asks: dict[tuple[str, ...], int] = {}
    numbered = False
    for sentence in between_marks(text.tokens[:LONGEST]):
        alone = len(sentence) == 2 and sentence[0].isdecimal()  # `1.`: its item is the next sentence
        if not alone and (count := _asks(sentence, item=numbered)):
            asks[sentence] = count
        numbered = alone
    total = sum(asks.values())
    return 1 - 1 / total if total > 1 else 0.0


def _asks(sentence: tuple[str, ...], *, item: bool) -> int:
    """How many things a sentence asks."""
    listed, asked = lists(), sentence[-1] in MARKS
    item = item or _is_item(sentence)
    if not (asked or item) and listed["begins an ask"].isdisjoint(sentence):
        return 0
    said = [token for token in sentence if token[0].isalnum()]
    begun = _past_courtesy(said)
    if not said or not (asked or item or _is_wish(said) or said[begun] in listed["orders"]):
        return 0
    return 1 + _joined(sentence, begun, listed["questions" if asked else "questions and orders"])


def _past_courtesy(said: Sequence[str]) -> int:
    """The first word that is more than `please`, `could you`; 0 if none is."""
    courtesy = lists()["courtesy"]
    return next((n for n, token in enumerate(said) if token not in courtesy), 0)


def _joined(sentence: Sequence[str], begun: int, openings: frozenset[str]) -> int:
    """How many further asks are joined to the first: `and how`, `then tell`."""
    joining = lists()["joining"]
    if joining.isdisjoint(sentence):
        return 0
    joints = [n for n, token in enumerate(sentence[:-1]) if n > begun and token in joining]
    return sum(_behind(sentence, n + 1) in openings for n in joints)


def _is_item(sentence: Sequence[str]) -> bool:
    """`- a cake`, `1) a cake`."""
    return sentence[0] in BULLETS or (sentence[0].isdecimal() and sentence[1:2] == (")",))


def _is_wish(said: Sequence[str]) -> bool:
    return said[0] == "i" and said[1:2] in (["need"], ["want"], ["would"], ["'d"])


def _behind(sentence: Sequence[str], n: int) -> str:
    """The word behind a joint, other joints and courtesy aside."""
    passed = lists()["joining and courtesy"]
    return next((token for token in sentence[n : n + 3] if token not in passed), "")


@cache
def lists() -> Mapping[str, frozenset[str]]:
    """The word lists, folded as `read` folds a message."""
    found: dict[str, frozenset[str]] = {}
    for _, name, listed in word_lists(LISTS):
        found[name] = found.get(name, frozenset()).union(read(" ".join(listed)).tokens)
    found["empty"] = frozenset().union(*(own for name, own in found.items() if name.startswith("empty ")))
    found["questions and orders"] = found["questions"] | found["orders"]
    found["begins an ask"] = found["orders"] | {"i"}
    found["joining and courtesy"] = found["joining"] | {"please", "finally"}
    return found
