"""The search text of a message: a follow-up is joined with the question it refers to.

`refers` reads the message alone: pronouns, ellipses and openings without what they refer to. `resolve`
prefixes the earlier question, or puts the names and years of the message into it (`substitute.py`). Rules
over word tables (`text/languages.py`), no model; pronoun rules are English only. A self-contained message is
never expanded and a doubtful one rarely, because a wrong expansion searches for the wrong thing. Nothing here
raises. Source: docs/contract.md.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from itertools import dropwhile, islice

from app.answer import Role, Turn
from app.answering.substitute import substituted
from app.text.languages import (
    ASKING,
    COURTESY,
    DETERMINERS,
    ENGLISH,
    FOREIGN,
    HAPPENING,
    MONTHS,
    PAPERS,
    PREPOSITIONS,
    QUESTIONS,
    SOCIAL,
    TALK,
    TIMES,
    TONGUES,
    Tongue,
    words,
)

MARKS = frozenset(",;:.?!")
BREAKS = frozenset(",;:.?!") | words(
    "and or but if when while because since once after before until that which who whether how why what where"
)
"""Boundaries of clauses: an earlier clause may contain the noun of a later pronoun."""
POSSESSIVE = words("its their theirs his her hers")
PERSONS = words("he him his she her hers")
FAR = 3
"""More content words than this before a pronoun contain its noun."""
FOLLOWING = words("of who whom that which whose in with where he she i we you they it")
"""Words after `one` that say which one."""
FORMULAS = words(
    "cost costs take takes matter sense help pay possible impossible allowed permitted forbidden legal"
    " illegal lawful safe dangerous required mandatory compulsory necessary ok okay fine better best"
    " worth wise cheaper easy easier hard difficult true likely normal common usual customary important"
    " enough correct wrong right recommended advisable healthy useful clear known said proven believed"
    " acceptable polite risky"
)
"""`It` before these and a clause stands for the clause: it is possible to …, it is known whether …"""
CLAUSES = words("to that if whether when how what who why where")
ALIKE = words("like feel mean")
"""The same before `to` and a verb, in a shorter clause: what is it like to sail?"""
PREDICATES = words(
    "cost weigh include cover mean say involve contain require need apply work belong free available"
    " covered included cheaper better"
)
"""Predicates of things: `what does the second cost?` has no noun, `the second edition` has."""
LISTED = words("point item option part question step one")
"""Items of a list in an answer: `the second option` is one of those, unless the message says of what."""
ALONE = PREPOSITIONS | {"", "about"}
"""`That` after these is a phrase by itself; "" is the beginning."""
WEATHER = words("rain rains raining snow snows snowing freezing")

Tokens = Sequence[str]


def content(tokens: Tokens) -> list[str]:
    return [token for token in tokens if token not in MARKS and not ENGLISH.names_nothing(token.lower())]


def points(tokens: Tokens) -> bool:
    """True if a word refers to something outside the message."""
    lower = [token.lower() for token in tokens]
    return any(
        RULES[word](lower, n) and not _bound(tokens, lower, n)
        for n, word in enumerate(lower)
        if word in RULES
    )


def _bound(tokens: Tokens, lower: Tokens, n: int) -> bool:
    """True if the message contains what a word stands for: in an earlier clause, far back in its own, or, for
    `its` and `she`, as its subject (`one`, two content words, or a name)."""
    return (
        _far(lower, n)
        or (lower[n] in POSSESSIVE and len(content(lower[:n])) > 1)
        or _owned(lower, n)
        or _people(tokens, lower, n)
        or (lower[n] in PERSONS | POSSESSIVE and _named(tokens[1:n]))
    )


def _far(lower: Tokens, n: int) -> bool:
    """True if there is content in an earlier clause, or far back in this one."""
    breaks = [place for place in range(n) if lower[place] in BREAKS]
    return bool(breaks and content(lower[: breaks[-1]])) or len(content(lower[:n])) > FAR


def _owned(lower: Tokens, n: int) -> bool:
    """True if it belongs to the subject: `its price`, or the first of a list."""
    owned = lower[n] in POSSESSIVE and not _ends(_near(lower, n + 1))
    return (owned or _near(lower, n + 1) in LISTED) and _subject(lower[:n])


def _named(tokens: Tokens) -> bool:
    return any(token[:1].isupper() for token in content(tokens))


def _subject(lower: Tokens) -> bool:
    """True if the question has a noun as its subject: `does the author …`, `should tenants …`."""
    for place, word in enumerate(lower):
        if word in ASKING:
            rest = dropwhile(lambda after: after in DETERMINERS | ENGLISH.ordinals.keys(), lower[place + 1 :])
            if content(list(rest)[:1]):
                return True
    return False


def _people(tokens: Tokens, lower: Tokens, n: int) -> bool:
    """`What do they eat in Japan?` means people there; with a month or a year, `they` is a reference."""
    if lower[n] != "they" or _near(lower, n - 1) != "do":
        return False
    places = [place + 1 for place in range(n, len(lower)) if lower[place] == "in"]
    named = [token for place in places for token in tokens[place : place + 3] if token[:1].isupper()]
    return any(token.lower() not in MONTHS for token in named)


def _near(lower: Tokens, n: int) -> str:
    return lower[n] if 0 <= n < len(lower) else ""


def _ends(word: str) -> bool:
    return word in MARKS or word in ("", "too", "instead") or word in ENGLISH.verbs or word in PREPOSITIONS


def _always(_lower: Tokens, _n: int) -> bool:
    return True


def _it(lower: Tokens, n: int) -> bool:
    """`It` that refers to something: not of a formula with its clause, the weather, the clock."""
    after = list(lower[n + 1 : n + 5])
    if _near(after, 0) in ALIKE and _near(after, 1) == "to" and _near(after, 2) not in DETERMINERS:
        return not content(lower[n + 3 :])
    if _formal(lower, n):
        return False
    return not (WEATHER.intersection(after) or {"time", "day"}.intersection(lower[max(0, n - 2) : n]))


def _formal(lower: Tokens, n: int) -> bool:
    """True if it stands for a clause that follows: `is it possible to …`."""
    places = range(n + 1, min(n + 5, len(lower)))
    formula = next((place for place in places if lower[place] in FORMULAS), None)
    if formula is None:
        return False
    clause = range(formula + 1, min(formula + 5, len(lower)))
    starts = next((place for place in clause if lower[place] in CLAUSES), None)
    return starts is not None and len(content(lower[starts:])) > 1


def _that(lower: Tokens, n: int) -> bool:
    """The pronoun, not the conjunction: alone, after a preposition, as the subject of the question."""
    before, after = _near(lower, n - 1), _near(lower, n + 1)
    if before in ALONE or after == "":
        return True
    if before in TALK or (n == 1 and before not in ENGLISH.verbs):
        return _ends(after) and after not in ENGLISH.verbs
    return _follows(lower, n)


def _follows(lower: Tokens, n: int) -> bool:
    """True if it follows the verb of a question with hardly any content: `is that so?`"""
    return _near(lower, n - 1) in ENGLISH.verbs and _asks(lower) and len(content(lower[: n - 1])) < 2


def _asks(lower: Tokens) -> bool:
    first = next(word for word in lower if word not in ENGLISH.openings)
    return first in QUESTIONS or first in ENGLISH.verbs


def _this(lower: Tokens, n: int) -> bool:
    return (PAPERS | TIMES).isdisjoint(lower[n + 1 : n + 3])


def _those(lower: Tokens, n: int) -> bool:
    return _near(lower, n + 1) not in FOLLOWING | PAPERS | {"days"}


def _one(lower: Tokens, n: int) -> bool:
    """`the second one`, `which ones`: an item of a list, unless the message says which."""
    before = {_near(lower, n - 1), _near(lower, n - 2)}
    chosen = before & (words("the this that which these those other another") | set(ENGLISH.ordinals))
    return bool(chosen) and _near(lower, n + 1) not in FOLLOWING


def _ordinal(lower: Tokens, n: int) -> bool:
    """`the second` without a noun, or with one for list items; not `the first to …`."""
    after = _near(lower, n + 1)
    if after in LISTED:
        after = _near(lower, n + 2)
        if after in PREPOSITIONS:
            return False
    bare = after in PREDICATES or (_ends(after) and after not in ("to", "of"))
    return _near(lower, n - 1) == "the" and bare


def _same(lower: Tokens, n: int) -> bool:
    start = _near(lower, n - 2)
    return _near(lower, n - 1) == "the" and start in {*ENGLISH.verbs, ""} and not content(lower[:n])


def _other(lower: Tokens, n: int) -> bool:
    return _ends(_near(lower, n + 1))


def _last(lower: Tokens, n: int) -> bool:
    return _near(lower, n + 1) == "" and _near(lower, n - 1) not in QUESTIONS


RULES: Mapping[str, Callable[[Tokens, int], bool]] = {
    **dict.fromkeys(words("they them their theirs he him his she her hers its"), _always),
    **dict.fromkeys(ENGLISH.ordinals, _ordinal),
    "it": _it,
    "that": _that,
    "this": _this,
    "these": _those,
    "those": _those,
    "one": _one,
    "ones": _one,
    "same": _same,
    "other": _other,
    "others": _other,
    "another": _other,
    "there": _last,
    "then": _last,
}

REFERRING_CHARACTERS, CONTENT_WORDS = 300, 8
"""Characters and content words: a longer message has enough words of its own."""
TOKENS = 60
"""Words and marks read: 300 characters of `it,` would take quadratic time."""
BACK = 6
"""Most questions to look back: a longer chain of follow-ups has lost its beginning."""
TURNS = 40
"""The newest turns read, with thanks and greetings: a client may send any number."""
PART = 300
"""Most characters of each part of the prefix."""
SAID = 10_000
"""Characters read of the last answer."""

# Clients write these texts. No class below matches the mark that opens its own pattern, so a failed scan is
# not restarted inside: time is linear, not quadratic.
QUOTED = re.compile(r"\"[^\"]+\"|“[^“”]+”|«[^«»]+»|„[^„“”]+[“”]|`[^`]+`|(?<!\w)['‘][^'‘’]+['’](?!\w)")
TOKEN = re.compile(r"[^\W_]+(?:['-][^\W_]+)*|[,;:.?!]")
CLITIC = re.compile(r"(?:'s|'re|'ll|'d|'ve)$")
MARK = re.compile(r"[,;:.?!]")
SENTENCES = re.compile(r"(?<=[.!?。！？؟])[*_\"'”’»)\]]*\s+")
QUESTION_END = re.compile(r"[?？؟]\W*$")
"""A question mark, followed by any marks, quotes or emoji."""
ITEM = re.compile(r"^[ \t]*(?:[-*•–]|\d{1,2}[.)])[ \t]+(\S.*)$", re.MULTILINE)
CITED = re.compile(r" ?\[[^\[\]\n#]{1,160}#[^\[\]\n]{1,1000}\]")
NAME_WORD = re.compile(r"[^\W\d_]{2,}")
NAME = re.compile(r"(?<![.!?:]\s)(?<!^)\b[A-Z]\w+(?:[ -][A-Z]\w+)*|^[A-Z]\w+(?: [A-Z]\w+)+")
YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
STEP = re.compile(
    r"\byear (?:before|earlier|prior)\b|\b(?:previous|prior|preceding) year\b"
    r"|(?P<after>\byear (?:after|later)\b|\b(?:next|following) year\b)",
    re.IGNORECASE,
)
ASKS_NAME = frozenset({"who", "which", "whose"})
DEGREES = frozenset({"so", "only", "just", "still"})
VERBS = ENGLISH.verbs | HAPPENING


def refers(message: str) -> bool:
    """True if a message cannot be searched for without earlier ones."""
    if len(message) > REFERRING_CHARACTERS:
        return False
    tokens = tokenised(message)
    if not 0 < len(tokens) <= TOKENS or len(content(tokens)) > CONTENT_WORDS or _social(tokens):
        return False
    return _bare(tokens) or _opened(tokens) or _fragment(tokens) or points(tokens)


def resolve(message: str, turns: Sequence[Turn]) -> str:
    """The search text: `message`, after what it refers to in `turns` (oldest first), or the earlier question
    about what the message names.

    At most 3 × (PART + 1) characters longer than the message.
    """
    if not refers(message):
        return message
    newest = turns[-TURNS:]
    chain = _chain(newest)
    if not chain:
        return message
    said, named = _said(newest), _cited(newest)
    asked, latest = _cut(chain[0]), ""
    for follow_up in chain[1:]:
        asked, latest, _ = _folded(asked, latest, _dated(_cut(follow_up), asked, latest), named)
    before, dated = latest, _dated(message, asked, latest)
    asked, latest, whole = _folded(asked, latest, dated, named)
    if whole:
        return " ".join(filter(None, (asked, _unsaid(latest, (asked,)))))
    year = _last_year(dated) if dated != message else ""
    extra = _cut(_picked(message, said) or _named_thing(chain[-1], said) or year)
    return " ".join(filter(None, (_cut(asked), _unsaid(before, (asked, message)), extra, message)))


def answers(message: str, turns: Sequence[Turn]) -> str:
    """The search text of a yes or no: after the question that ends the last answer; "" where none does,
    or one that names nothing (`What else would you like to know?`)."""
    parts = [part for part in SENTENCES.split(_said(turns[-TURNS:])) if re.search(r"\w", part)]
    asked = [part for part in parts[-2:] if QUESTION_END.search(part) and content(tokenised(part))]
    return f"{_cut(asked[-1])} {message}" if asked else ""


def names_nothing(message: str) -> bool:
    """True if no word of a message can be searched for (`why?`, `And?`)."""
    tokens = tokenised(message[: REFERRING_CHARACTERS + 1])
    return 0 < len(tokens) <= TOKENS and not _words(tokens)[0].isdecimal() and _bare(tokens)


def tokenised(message: str) -> list[str]:
    """Words and marks, with clitics separated (`what's`: what, is); a quotation counts as one content word.
    Keeps case, which distinguishes names."""
    plain = QUOTED.sub(" Quotation ", message.replace("’", "'"))
    found: list[str] = []
    for token in TOKEN.findall(plain):
        whole = CLITIC.sub("", token) if "'" in token else token
        is_verb = whole != token and whole.lower() in ENGLISH.bare
        found += [whole, "is"] if is_verb else [whole]
    while found and MARK.fullmatch(found[-1]):
        found.pop()
    return found


def _words(tokens: Sequence[str]) -> list[str]:
    return [token.lower() for token in tokens if not MARK.fullmatch(token)]


def _social(tokens: Sequence[str]) -> bool:
    """A greeting, thanks, a yes; or a question about the assistant itself."""
    words = _words(tokens)
    if all(word in SOCIAL or word in COURTESY for word in words):
        return True
    return "you" in words and not content(words) and not any(word in TALK for word in words)


def _bare(tokens: Sequence[str]) -> bool:
    """Only words without content: `why?`, `tell me more`, `warum?`; or a number alone."""
    words = _words(tokens)
    if all(word.isdecimal() for word in words):
        return True
    return any(all(tongue.names_nothing(word) for word in words) for tongue in TONGUES)


def _opened(tokens: Sequence[str]) -> bool:
    """`And the compressor?`, `What about kayaks?`: an opening, and no whole question after it."""
    words = _words(tokens)
    if words[:2] in (["what", "about"], ["how", "about"], ["what", "of"]):
        return len(words) <= 10
    if words[0] in ENGLISH.openings:
        rest = words[1:]
        whole = any(word in ENGLISH.verbs for word in rest)
        asks = rest[:1] in (["who"], ["what"]) and len(content(rest)) > 1
        return not whole and not asks and len(rest) <= 6
    return any(_opened_in(tongue, words) for tongue in FOREIGN)


def _opened_in(tongue: Tongue, words: Sequence[str]) -> bool:
    """The same in another language: the word after the opening must be of that language, or a number."""
    if len(words) < 2 or words[0] not in tongue.openings:
        return False
    rest = words[1:]
    if not (tongue.names_nothing(rest[0]) or rest[0].isdecimal()):
        return False
    own = sum(not tongue.names_nothing(word) for word in rest)
    return own <= (2 if tongue.verbs.isdisjoint(rest) else 1) and len(rest) <= 5


def _fragment(tokens: Sequence[str]) -> bool:
    """A question without its verb: `In what year?`, `Which countries?`; or one that only compares or adds:
    `Which is cheaper?`, `Who else signed?`."""
    words = _words(tokens)
    own = len(content(words))
    if _compares(words):
        return own <= 1
    if not VERBS.isdisjoint(words):
        return False
    if words[0] in PREPOSITIONS:
        return len(words) <= 5 and own <= 2
    return words[0] in QUESTIONS and len(words) <= 4 and own <= 1 and not _advice(words)


def _compares(words: Sequence[str]) -> bool:
    return "else" in words or words[:2] in (["which", "is"], ["which", "are"])


def _advice(words: Sequence[str]) -> bool:
    """`Why exercise?`, `How to swim?`: complete questions; `why so late?` is not."""
    return words[1:2] == ["to"] or (words[0] == "why" and words[1] not in DEGREES)


def _chain(turns: Sequence[Turn]) -> list[str]:
    """What a follow-up refers to, oldest first: the last complete question, and the follow-ups to it."""
    chain: list[str] = []
    for question in islice(_questions(turns), BACK):
        chain.append(question)
        if not refers(question):
            break
    return chain[::-1]


def _unsaid(text: str, others: Sequence[str]) -> str:
    """What of a text no other says, so that no word is searched twice."""
    said = {word for other in others for word in _words(tokenised(_cut(other)))}
    return " ".join(part for part in text.split() if not said.issuperset(_words(tokenised(part))))


def _folded(asked: str, latest: str, message: str, named: Set[str]) -> tuple[str, str, bool]:
    """(question, last follow-up to it) after a further follow-up, and True if they hold all of that one.
    Things that are parallel to those it names are replaced."""
    for first, text in ((True, asked), (False, latest)):
        found, whole = substituted(text, message, named)
        if found != text or whole:
            found = found if whole else _cut(found)
            kept = latest if whole else message
            return (found, kept, whole) if first else (asked, found if whole else message, whole)
    return asked, message, False


def _dated(message: str, asked: str, latest: str) -> str:
    """The message with the year that `the year before` means, counted from the last one named."""
    year, step = _last_year(latest) or _last_year(asked), STEP.search(message)
    if not (year and step):
        return message
    return STEP.sub(str(int(year) + (1 if step["after"] else -1)), message, count=1)


def _last_year(text: str) -> str:
    found: list[str] = YEAR.findall(text)
    return found[-1] if found else ""


def _cited(turns: Sequence[Turn]) -> frozenset[str]:
    """Words of the names of cited documents: in a question these are names, whatever their case."""
    said = [turn.content[:SAID] for turn in turns if turn.role is Role.ASSISTANT][-BACK:]
    names = [label.rpartition("#")[0] for text in said for label in CITED.findall(text)]
    return frozenset(word.lower() for name in names for word in NAME_WORD.findall(name))


def _questions(turns: Sequence[Turn]) -> Iterator[str]:
    for turn in reversed(turns):
        if turn.role is Role.USER and (words := tokenised(_cut(turn.content))) and not _social(words):
            yield turn.content


def _said(turns: Sequence[Turn]) -> str:
    last = next((turn.content for turn in reversed(turns) if turn.role is Role.ASSISTANT), "")
    return CITED.sub("", last[:SAID])


def _picked(message: str, answer: str) -> str:
    items = ITEM.findall(answer)
    words = _words(tokenised(message))
    for tongue in TONGUES:
        for word, index in tongue.ordinals.items():
            if word in words and -len(items) <= index < len(items) and len(items) > 1:
                return str(items[index]).strip(" *_")
    return ""


def _named_thing(question: str, answer: str) -> str:
    """Names in the first sentence of an answer to `who` or `which`: what `she` and `it` then refer to."""
    if not ASKS_NAME.intersection(_words(tokenised(_cut(question)))[:2]):
        return ""
    first = SENTENCES.split(answer.strip(), maxsplit=1)[0][:PART]
    known = _cut(question).lower()
    names = [name for name in NAME.findall(first) if name.lower() not in known]
    return " ".join(names[:2])


def _cut(text: str) -> str:
    line = " ".join(text[: 4 * PART].split())
    return line if len(line) <= PART else (line[:PART].rpartition(" ")[0] or line[:PART])
