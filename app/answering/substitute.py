"""Replaces in an earlier question what an elliptic follow-up names another of.

"Where is AMD's headquarters?", then "And Verizon's?", is "Where is Verizon's headquarters?". Parallel are two
names, years, quarters, months, two things of the same owner (`my dog`, `my sister`), or two nouns after the
same preposition. Where several could be meant, nothing is replaced. Rules over word tables, linear time;
nothing here raises.
"""

import re
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass

from app.text.languages import DETERMINERS, MONTHS, PREPOSITIONS, TONGUES, words

OWNERS = words("my our your his her their its mein meine meiner unser unsere mon ma mes notre mi mis nuestro")
ARTICLES = DETERMINERS - OWNERS | words("the der die das den dem ein eine le la les un une el los las una")
BETWEEN = PREPOSITIONS | words("von vom bei für im aus zu mit pour de du des en à au chez para con del")
LOOSE = words("of for at by von vom bei für de du des del pour chez para")
"""Prepositions for which a possessive, or another of them, may be used as well: `AMD's`, `for AMD`."""
ENDINGS = words("please then too instead now bitte denn dann auch aussi también")
ABOUT = (["what", "about"], ["how", "about"], ["what", "of"])
PHRASE_WORDS = 3
"""Words of a noun phrase."""
WORD = re.compile(
    r"(?P<word>[^\W_]+(?:[-&.'’](?!s(?!\w))[^\W_]+)*)(?P<own>['’]s(?!\w)|(?<=s)['’](?!\w))?|[&,;:.?!¿¡()\"]"
)
YEAR = re.compile(r"(?:FY)?(?:19|20)\d\d", re.IGNORECASE)
QUARTER = re.compile(r"Q[1-4]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Word:
    text: str
    """Without a possessive ending; a mark as it is."""
    start: int
    end: int
    """In characters, with the ending."""
    possessive: bool = False
    opens: bool = False
    """True for the first word of a sentence: its capital says nothing."""

    @property
    def lower(self) -> str:
        return self.text.lower()

    @property
    def is_content(self) -> bool:
        word = self.lower
        return word[0].isalnum() and not any(tongue.names_nothing(word) for tongue in TONGUES)


@dataclass(frozen=True, slots=True)
class Thing:
    """Something that a text names: its kind, its words, and the words before it."""

    kind: str
    first: int
    last: int
    """Of its words, the last one included."""
    possessive: bool
    before: str
    """Its preposition; "" without."""
    article: str

    def part_of(self, text: str, said: Sequence[Word]) -> str:
        end = said[self.last]
        return text[said[self.first].start : end.start + len(end.text)]


def substituted(text: str, message: str, named: Set[str] = frozenset()) -> tuple[str, bool]:
    """`text` with the things of `message` in the places of those they are parallel to, and True if nothing of
    the message is left over; `text` itself where nothing can be replaced. `named`: further words that are
    names, in lower case."""
    asked = read(message)
    asked = asked[_opening(asked) :]
    while asked and (not asked[-1].text[0].isalnum() or asked[-1].lower in ENDINGS):
        asked.pop()
    new = list(things(asked, named, PHRASE_WORDS))
    rest = _left(asked, new)
    if not new or any(not word.is_content for word in rest):  # a verb or a pronoun: a question of its own
        return text, False
    placed = 0
    for thing in new:
        said = read(text)
        length = thing.last - thing.first + 1
        found = parallel(thing, list(things(said, named, length)), said, named)
        if found:
            text = _put(text, said, found, thing.part_of(message, asked))
            placed += 1
    return text, placed == len(new) and not rest


def read(text: str) -> list[Word]:
    found: list[Word] = []
    for match in WORD.finditer(text):
        word, opens = match["word"] or match[0], not found or found[-1].text in ".?!¿¡:"
        found.append(Word(word, match.start(), match.end(), bool(match["own"]), opens))
    return found


def things(said: Sequence[Word], named: Set[str], length: int) -> Iterator[Thing]:
    """Everything that a text names, in order. `length`: words of a thing that has an owner, unless a
    possessive ends it."""
    at = 0
    while at < len(said):
        kind, end = _thing(said, at, named, length)
        if kind:
            article, before = _preceding(said, at)
            if kind != "noun" or before:
                yield Thing(kind, at, end, said[end].possessive, before, article)
        at = end + 1


def _thing(said: Sequence[Word], at: int, named: Set[str], length: int) -> tuple[str, int]:
    """(kind, last word) of the thing that begins here; ("", `at`) if none does."""
    word = said[at]
    if time := _time(said, at):
        return time
    if word.lower in OWNERS:
        return _owned(said, at, length)
    if _is_name(said, at, named):
        return "name", _run(said, at, lambda other: other.text == "&" or _capital(other, named), 9)
    if _is_noun(word, named):
        return "noun", _run(said, at, lambda other: _is_noun(other, named), PHRASE_WORDS)
    return "", at


def _time(said: Sequence[Word], at: int) -> tuple[str, int] | None:
    """A year, a quarter (`Q3`, `third quarter`) or a month."""
    word = said[at]
    if YEAR.fullmatch(word.text):
        return "year", at
    if QUARTER.fullmatch(word.text):
        return "quarter", at
    if at + 1 < len(said) and said[at + 1].lower == "quarter":
        return "quarter", at + 1
    if word.lower in MONTHS and word.text[0].isupper():
        return "month", at
    return None


def _owned(said: Sequence[Word], at: int, length: int) -> tuple[str, int]:
    """What `my` or `his` owns: to the first possessive, otherwise `length` words."""
    end = _run(said, at + 1, lambda other: other.is_content, PHRASE_WORDS)
    if end == at:
        return "", at
    return "own", next((n for n in range(at + 1, end + 1) if said[n].possessive), min(end, at + length - 1))


def _run(said: Sequence[Word], at: int, belongs: Callable[[Word], bool], most: int) -> int:
    """The last of at most so many words from `at` on that belong together; `at - 1` if none does. A
    possessive ends them."""
    end = at
    while end < min(len(said), at + most) and belongs(said[end]):
        end += 1
        if said[end - 1].possessive:
            break
    return end - 1


def _is_name(said: Sequence[Word], at: int, named: Set[str]) -> bool:
    word = said[at]
    if not _capital(word, named):
        return False
    if not word.opens or word.possessive or word.lower in named:
        return True
    return len(word.text) > 1 and (word.text.isupper() or _capital(said[min(at + 1, len(said) - 1)], named))


def _is_noun(word: Word, named: Set[str]) -> bool:
    return word.is_content and not word.text[-1].isdecimal() and not _capital(word, named)


def _capital(word: Word, named: Set[str]) -> bool:
    """True for a word that may be a name: with a capital, a possessive, or among the names."""
    return word.is_content and (word.text[0].isupper() or word.possessive or word.lower in named)


def _preceding(said: Sequence[Word], at: int) -> tuple[str, str]:
    """(article, preposition) before a thing."""
    article = said[at - 1].lower if at and said[at - 1].lower in ARTICLES else ""
    at -= bool(article)
    return article, said[at - 1].lower if at and said[at - 1].lower in BETWEEN else ""


def _opening(said: Sequence[Word]) -> int:
    """Number of words before the things of a follow-up: `And what about`."""
    at = 0
    while at < len(said):
        lower = [word.lower for word in said[at : at + 2]]
        if lower in ABOUT:
            at += 2
        elif any(lower[0] in tongue.openings for tongue in TONGUES) or lower[0] in "¿¡,":
            at += 1
        else:
            break
    return at


def _left(said: Sequence[Word], found: Sequence[Thing]) -> list[Word]:
    """The words that are neither in a thing nor an article or a preposition."""
    inside = {n for thing in found for n in range(thing.first, thing.last + 1)}
    passed = ARTICLES | BETWEEN
    return [
        word
        for n, word in enumerate(said)
        if n not in inside and word.text[0].isalnum() and word.lower not in passed
    ]


def parallel(new: Thing, found: Sequence[Thing], said: Sequence[Word], named: Set[str]) -> Thing | None:
    """The one thing of a text that a new one replaces; None if there is none, or several could be meant."""
    fit = [each for each in found if each.kind == new.kind and _fits(new, each)]
    signs: tuple[Callable[[Thing], bool], ...] = (
        lambda each: each.possessive and new.possessive,
        lambda each: each.before == new.before != "",
        lambda each: any(word.lower in named for word in said[each.first : each.last + 1]),
    )
    for sign in signs:
        fit = [each for each in fit if sign(each)] or fit
    return fit[0] if len(fit) == 1 else None


def _fits(new: Thing, old: Thing) -> bool:
    if new.kind not in ("name", "noun"):
        return True
    if new.kind == "noun":
        return new.before == old.before
    if new.before and new.before == old.before:
        return not new.article or new.article == old.article
    if new.article != old.article:
        return False
    if not new.before:
        return True
    return new.before in LOOSE and (old.before in LOOSE or not old.before)


def _put(text: str, said: Sequence[Word], old: Thing, new: str) -> str:
    start, end = said[old.first].start, said[old.last]
    return text[:start] + new + text[end.start + len(end.text) :]
