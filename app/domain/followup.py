"""What a message is searched as: a follow-up with what it refers to, anything else as it stands.

`refers` looks at the message alone; `resolve` puts the question it hangs on in front of it. Rules over word
tables (`domain/tongue.py`), no model: a self-contained message is never expanded, a doubtful one rather not,
for a wrong expansion searches for the wrong thing. Source: CONTRACT §1 (Follow-ups). Nothing here raises.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from app.domain.pointing import content, points
from app.domain.prompt import Role, Turn
from app.domain.tongue import (
    COURTESY,
    ENGLISH,
    FOREIGN,
    HAPPENING,
    PREPOSITIONS,
    QUESTIONS,
    SOCIAL,
    TALK,
    TONGUES,
    Tongue,
)

LONGEST, MANY = 300, 8
"""Characters, words of content: a message over either brings its own words to be searched by."""
TOKENS = 60
"""Words and marks looked at: 300 characters of `it,` would be compared each with each."""
BACK = 6
"""Questions looked back at most: a chain of follow-ups longer than that has lost its beginning."""
TURNS = 40
"""The newest turns looked at, thanks and greetings among them: a client sends as many as it likes."""
PART = 300
"""Characters taken at most of each thing put in front."""
SAID = 10_000
"""Characters of the last answer looked at."""

# Whoever asks writes these texts. No class below holds the mark that opens its own pattern, so that a scan
# that fails is not begun again inside: time grows with the length, not with its square.
QUOTED = re.compile(r"\"[^\"]+\"|“[^“”]+”|«[^«»]+»|„[^„“”]+[“”]|`[^`]+`|(?<!\w)['‘][^'‘’]+['’](?!\w)")
TOKEN = re.compile(r"[^\W_]+(?:['-][^\W_]+)*|[,;:.?!]")
CLITIC = re.compile(r"(?:'s|'re|'ll|'d|'ve)$")
MARK = re.compile(r"[,;:.?!]")
SENTENCES = re.compile(r"(?<=[.!?。！？؟])[*_\"'”’»)\]]*\s+")
ASKING = re.compile(r"[?？؟]\W*$")
"""A sentence that asks, whatever marks, quotes or emoji stand behind it."""
"""How a question ends."""
ITEM = re.compile(r"^[ \t]*(?:[-*•–]|\d{1,2}[.)])[ \t]+(\S.*)$", re.MULTILINE)
CITED = re.compile(r" ?\[[^\[\]\n#]{1,160}#[^\[\]\n]{1,1000}\]")
NAME = re.compile(r"(?<![.!?:]\s)(?<!^)\b[A-Z]\w+(?:[ -][A-Z]\w+)*|^[A-Z]\w+(?: [A-Z]\w+)+")
ASKS_NAME = frozenset({"who", "which", "whose"})
DEGREES = frozenset({"so", "only", "just", "still"})
VERBS = ENGLISH.verbs | HAPPENING


def refers(message: str) -> bool:
    """Whether a message cannot be searched for without what was said before it."""
    if len(message) > LONGEST:
        return False
    tokens = tokenised(message)
    if not 0 < len(tokens) <= TOKENS or len(content(tokens)) > MANY or _social(tokens):
        return False
    return _bare(tokens) or _opened(tokens) or _fragment(tokens) or points(tokens)


def resolve(message: str, turns: Sequence[Turn]) -> str:
    """The search text: `message`, after what it refers to in `turns` (oldest first).

    At most 3 × (PART + 1) characters longer than the message."""
    if not refers(message):
        return message
    newest = turns[-TURNS:]
    asked = _asked(newest)
    if not asked:
        return message
    said = _said(newest)
    extra = _picked(message, said) or _named(asked[-1], said)
    parts = [_cut(part) for part in (*asked, extra) if part]
    return " ".join([*parts, message])


def answers(message: str, turns: Sequence[Turn]) -> str:
    """The search text of a yes or no: behind the question of the last answer; "" where it asked nothing."""
    parts = [part for part in SENTENCES.split(_said(turns[-TURNS:])) if re.search(r"\w", part)]
    asked = [part for part in parts[-2:] if ASKING.search(part)]
    return f"{_cut(asked[-1])} {message}" if asked else ""


def names_nothing(message: str) -> bool:
    """Whether no word of a message could be searched for (`why?`, `And?`): it is nothing by itself."""
    tokens = tokenised(message[: LONGEST + 1])
    return 0 < len(tokens) <= TOKENS and not _words(tokens)[0].isdecimal() and _bare(tokens)


def tokenised(message: str) -> list[str]:
    """Words and marks, clitics told apart (`what's`: what, is); a quotation counts as one word of content.
    Case is kept: names are told by it."""
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
    """Lower case, without marks."""
    return [token.lower() for token in tokens if not MARK.fullmatch(token)]


def _social(tokens: Sequence[str]) -> bool:
    """A greeting, thanks, a yes; or a question about the assistant itself."""
    words = _words(tokens)
    if all(word in SOCIAL or word in COURTESY for word in words):
        return True
    return "you" in words and not content(words) and not any(word in TALK for word in words)


def _bare(tokens: Sequence[str]) -> bool:
    """Nothing but words that name nothing: `why?`, `tell me more`, `warum?`; or a number alone."""
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
    """The same of another language: the word after the opening must be of that language, or a number."""
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
    """`Which is cheaper?`, `Who else signed?`"""
    return "else" in words or words[:2] in (["which", "is"], ["which", "are"])


def _advice(words: Sequence[str]) -> bool:
    """`Why exercise?`, `How to swim?`: whole as they are; `why so late?` is not."""
    return words[1:2] == ["to"] or (words[0] == "why" and words[1] not in DEGREES)


def _asked(turns: Sequence[Turn]) -> list[str]:
    """What a follow-up hangs on, oldest first: the last question that stands alone, and the last of the
    follow-ups to it."""
    chain: list[str] = []
    for question in islice(_questions(turns), BACK):
        chain.append(question)
        if not refers(question):
            break
    return [chain[-1], *chain[:1]] if len(chain) > 1 else chain


def _questions(turns: Sequence[Turn]) -> Iterator[str]:
    """What was asked, newest first; thanks and greetings are no questions."""
    for turn in reversed(turns):
        if turn.role is Role.USER and (words := tokenised(_cut(turn.content))) and not _social(words):
            yield turn.content


def _said(turns: Sequence[Turn]) -> str:
    """The last answer, without its citations."""
    last = next((turn.content for turn in reversed(turns) if turn.role is Role.ASSISTANT), "")
    return CITED.sub("", last[:SAID])


def _picked(message: str, answer: str) -> str:
    """What the message picks from the answer's list: `the second one`."""
    items = ITEM.findall(answer)
    words = _words(tokenised(message))
    for tongue in TONGUES:
        for word, index in tongue.ordinals.items():
            if word in words and -len(items) <= index < len(items) and len(items) > 1:
                return str(items[index]).strip(" *_")
    return ""


def _named(question: str, answer: str) -> str:
    """Names in the first sentence of an answer to `who` or `which`: what `she` and `it` then stand for."""
    if not ASKS_NAME.intersection(_words(tokenised(_cut(question)))[:2]):
        return ""
    first = re.split(r"(?<=[.!?])\s", answer.strip(), maxsplit=1)[0][:PART]
    known = _cut(question).lower()
    names = [name for name in NAME.findall(first) if name.lower() not in known]
    return " ".join(names[:2])


def _cut(text: str) -> str:
    """One line, at most PART characters, whole words."""
    line = " ".join(text[: 4 * PART].split())
    return line if len(line) <= PART else (line[:PART].rpartition(" ")[0] or line[:PART])
