"""Splits an answer into sentences and tells what they do: ask, hedge, instruct, point to help, decline.

A sentence ends at `. ! ? …` before a blank or a line's end, at their full-width and other forms anywhere, and
with its line. A line of fenced code is one sentence and never a question. Phrases are those of
`data/answers.txt`. Linear in the text. Nothing here raises.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.text.languages import ENGLISH, FRENCH, GERMAN, SPANISH, Tongue
from app.text.phrases import ENDS, LONGEST, Found, Phrases, words
from app.vantage.lexicon import Entries, entries, phrases, sections

ASKING = frozenset("?？؟‽⁇⁈⁉⸮፧߹꘏\u037e")
"""Question marks; the last is Greek's, which looks like a semicolon."""
GREEK = re.compile(r"[\u0370-\u03ff\u1f00-\u1fff]")
ALWAYS = frozenset("。！？｡…．")
"""Marks that need no blank behind them."""
# A run of marks is matched whole and examined afterwards, so nothing is tried twice.
MARKS = r"[.!?…。！？｡．؟‽⁇⁈⁉⸮։።፧߹꘏।\u037e{}]++[\"'”’»)\]）」』*_~]*+"
END, GREEK_END = re.compile(MARKS.format("")), re.compile(MARKS.format(";"))
CLOSING = "\"'”’»)]）」』*_~ "
TRAILING = ".!…?？؟‽⁇⁈⁉⸮፧߹꘏\u037e;！"
BULLET = re.compile(r"(?:[-*+•–—·▪◦>]|#{1,6}|\(?\d{1,3}[.)、]|[A-Za-z][)])\s++(?=\S)")
"""What a line of a list, a quotation or a heading begins with."""
FENCE = ("```", "~~~")
LETTER, LETTERED = re.compile(r"[^\W\d]\."), re.compile(r"(?<!\w)[^\W\d]\.$")
"""`z. B.`, `d. h.`: a letter and its full stop, beside another."""
ARMENIAN = "՞"
"""Stands inside the word that is asked for."""
INVERTED = "¿"
"""Opens a Spanish question, whose end a model may forget."""
PIECE = LONGEST // 4
"""Characters whose words are read at once."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence as it is written, with its marks and without blanks around it."""

    text: str
    line: int
    bullet: str = ""
    """Of the line that it begins: `1.`, `-`."""
    code: bool = False

    @property
    def asks(self) -> bool:
        """True if it is a question: it ends as one and contains a word."""
        if self.code or not any(map(str.isalnum, self.text)):
            return False
        ending = self.text[-20:].rstrip(CLOSING)
        marks = ending[len(ending.rstrip(TRAILING)) :]
        greek = ";" in marks and GREEK.search(self.text) is not None
        if greek or ASKING.intersection(marks) or ARMENIAN in self.text:
            return True
        return ending.endswith(_UNMARKED) or self.text.rfind(INVERTED) > self.text.rfind("?")

    @property
    def numbered(self) -> bool:
        """True if it begins a line of a numbered list."""
        return "0" <= self.bullet.lstrip("(")[:1] <= "9"


def sentences(text: str) -> list[Sentence]:
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
    """The sentences of a line outside code."""
    head = BULLET.match(line)
    bullet, begun = (head[0].strip(), head.end()) if head else ("", 0)
    for mark in end.finditer(line, begun):
        if _ends(line, begun, mark):
            yield Sentence(line[begun : mark.end()].strip(), number, bullet)
            bullet, begun = "", mark.end()
    if rest := line[begun:].strip():
        yield Sentence(rest, number, bullet)


def _ends(line: str, begun: int, mark: re.Match[str]) -> bool:
    """True if a run of marks ends a sentence."""
    behind = line[mark.end() : mark.end() + 2]
    if behind and not behind[0].isspace():
        return mark[0][0] in ALWAYS or not mark[0].isascii()
    if not set(mark[0]) <= set(".…"):
        return True
    head, _, last = line[max(begun, mark.start() - 8) : mark.start()].rpartition(" ")
    word = last.casefold().lstrip("(\"'")
    if len(word) == 1 and (LETTER.match(line, mark.end() + 1) or LETTERED.search(head)):
        return not behind
    return not behind or (word not in _ABBREVIATIONS and not behind[1:].islower())


def words_of(text: str) -> list[str]:
    """The words of a text of any length, in lower case, and the marks between clauses (`phrases.words`)."""
    plain = text.replace("。", ". ").replace("．", ". ")
    return [word for at in range(0, len(plain), PIECE) for word in words(plain[at : at + PIECE])]


def clauses(row: Sequence[str]) -> Iterator[list[str]]:
    """The words between marks; a clause may be empty."""
    clause: list[str] = []
    for word in row:
        if word in ENDS:
            yield clause
            clause = []
        else:
            clause.append(word)
    yield clause


def mostly_latin(row: Sequence[str]) -> bool:
    """True if most of the words are in plain Latin letters."""
    return sum(word.isascii() for word in row) * 2 > len(row)


# Hedges, and questions to the user

LIST = 3
"""Questions that make a list."""
HEADED = re.compile(r"(?:\*\*|__)?(?:Q|F|P|R)\d{0,3}[.:)]|\*\*|__")
"""Opens a question of a FAQ."""


def hedges(row: Sequence[str]) -> int:
    """How many hedging phrases the words of a text hold."""
    return sum(any(found.names) for found in _HEDGES.among(row))


def leaves_out(row: Sequence[str]) -> bool:
    """True if the words of a text say that something is left out, or on what terms it is answered."""
    return any(any(found.names) for found in _LEFT_OUT.among(row))


def questions_to_user(row: Sequence[Sentence]) -> int:
    """Questions that the user is to answer. Headings, a FAQ, and a list of three or more that no sentence
    asks the user to answer are not among them: they are what was asked for."""
    loose = [one for one in row if one.asks and not one.bullet.startswith("#") and not HEADED.match(one.text)]
    listed = [one for one in loose if one.bullet]
    answerable = any(not one.bullet and _has(_ASKED, words_of(one.text)) for one in row)
    return len(loose) if len(listed) < LIST or answerable else len(loose) - len(listed)


# Instructions: steps, orders in a row, code, amounts. In doubt a text instructs.

AMOUNT = re.compile(r"(\d++)([^\W\d_]*+)")
STEP = re.compile(r"(?i:step|schritt|paso|étape|шаг)\s?\d|第[\d一二三四五]步")
ENOUGH = 2
"""Steps, orders or amounts that make instructions."""
MANY = 3
"""Orders alone, or words such as `then` that begin a clause."""


def instructs(row: Sequence[Sentence], words: Sequence[str]) -> bool:
    """True if a text, given as sentences and as words, may tell how something is done."""
    if any(one.code for one in row):
        return True
    steps = sum(one.numbered or STEP.match(one.text) is not None for one in row)
    orders, sequence = _openings(words)
    return steps >= ENOUGH or orders >= ENOUGH or sequence >= MANY or _amounts(words) >= ENOUGH


def recipe(row: Sequence[Sentence], words: Sequence[str]) -> bool:
    """True if a text surely does: three orders, two of them in numbered steps, or one with amounts."""
    orders = [one for one in row if not one.code and begins_with_order(words_of(one.text))]
    steps = sum(one.numbered for one in orders) + sum(STEP.match(one.text) is not None for one in row)
    return len(orders) >= MANY or steps >= ENOUGH or (bool(orders) and _amounts(words) >= ENOUGH)


def begins_with_order(words: Sequence[str]) -> bool:
    """True if a sentence begins with an order, alone or behind `first`, `you could`."""
    opens = 0
    for found in _INSTRUCTIONS.among(words):
        if found.start != opens or found.names[0] == "order":
            return found.start == opens
        opens = found.end + (found.end < len(words) and words[found.end] == ",")
    return False


def _openings(words: Sequence[str]) -> tuple[int, int]:
    """How many clauses begin with an order, behind `you should` or `then` too, and with a step's word."""
    count = {"order": 0, "step": 0, "lead": 0}
    opens = 0
    for found in _INSTRUCTIONS.among(words):
        if found.start != opens and found.start and words[found.start - 1] not in ENDS:
            continue
        kind = found.names[0]
        count[kind] += 1
        opens = found.end if kind != "order" else -1
        while 0 <= opens < len(words) and words[opens] == ",":
            opens += 1
    return count["order"], count["step"]


def _amounts(words: Sequence[str]) -> int:
    """How many amounts there are: `50 g`, `50g`."""
    count = 0
    for word, behind in zip(words, [*words[1:], ""], strict=False):
        if found := AMOUNT.fullmatch(word):
            count += (found[2] or behind) in _UNITS
    return count


# Where help is. A word alone says nothing ("the 112 bus"): a clause must tell the user to contact somebody,
# or a sentence name a help line with its number.

NEAR = 5
"""Words behind a verb of contact within which a known place begins."""


def points(row: Sequence[Sentence]) -> bool:
    """True if a sentence says whom to contact, or who helps better."""
    told = [clause for parts in _clauses_of(row) for clause in parts]
    return any(_tells_to_contact(clause) or _helps_better(clause) for clause in told) or helps(row)


def helps(row: Sequence[Sentence]) -> bool:
    """True if a sentence says who helps in danger."""
    for parts in _clauses_of(row):
        if any(map(_tells_to_contact, parts)) and any(map(_names_rescue, parts)):
            return True
        if _names_line([word for clause in parts for word in clause]):
            return True
    return False


def _clauses_of(row: Sequence[Sentence]) -> Iterator[list[list[str]]]:
    """Each sentence's clauses; code tells nobody whom to call."""
    return ([clause for clause in clauses(words_of(one.text)) if clause] for one in row if not one.code)


def _tells_to_contact(clause: Sequence[str]) -> bool:
    """True if a clause tells the user to contact somebody."""
    if _negated(clause):
        return False
    place = _has(_PLACES, clause)
    named = place or not (_EMERGENCY | _FIGURES).isdisjoint(clause)
    return any(
        (named and "foreign" in verb.names) or (_is_order(clause, verb) and _reaches(clause, verb, place))
        for verb in _CONTACT.among(clause)
    )


def _is_order(clause: Sequence[str], verb: Found) -> bool:
    """True if a verb of contact is said to the user: `please call`, `immediately call`, not `they call`."""
    before = clause[verb.start - 1] if verb.start else ""
    return not before or before in _BEFORE or before.endswith("ly")


def _reaches(clause: Sequence[str], verb: Found, place: bool) -> bool:
    """True if whom to contact is said: for a weak verb (`see`) anywhere in the clause, where there is a
    `place`; for a strong one (`call`) close behind it."""
    if "weak" in verb.names and place:
        return True
    behind = clause[verb.end] if verb.end < len(clause) else ""
    close = behind in _WHOM or behind.isdigit() or _has(_PLACES, clause[verb.end : verb.end + NEAR])
    return "strong" in verb.names and close


def _names_rescue(clause: Sequence[str]) -> bool:
    """True if a clause names who helps in danger."""
    named = any("danger" in found.names for found in _PLACES.among(clause))
    return named or not _EMERGENCY.isdisjoint(clause)


def _names_line(words: Sequence[str]) -> bool:
    """True if a sentence names a help line with its number; outside Latin letters the number is enough."""
    numbers = any(word in _EMERGENCY and len(word) > len("15") for word in words)
    return numbers and not _negated(words) and (not mostly_latin(words) or _has(_LINES, words))


def _helps_better(clause: Sequence[str]) -> bool:
    """True if a clause says who helps better: "a lawyer can tell you"."""
    if _has(_BETTER, clause):
        return True
    last = max((at for at, word in enumerate(clause) if word in _SERVES), default=-1)
    places = [found.end for found in _PLACES.among(clause) if found.end <= last]
    able = any(word in _ABLE for end in places for word in clause[end : end + 3])
    return able and not _negated(clause)


def _negated(clause: Sequence[str]) -> bool:
    """True if a clause denies, but for "don't hesitate to call"."""
    return not _NOT.isdisjoint(clause) and _HESITATE.isdisjoint(clause)


# Refusals. Each sentence declines, regrets, reasons, points to help or offers something else, in one language
# that the tables know, and hardly any word is outside a refusal's vocabulary. In doubt it is no refusal.

MOST_SENTENCES, MOST_WORDS, MOST_CHARACTERS = 5, 60, 4_000
"""Of a refusal: sentences, words of a sentence, characters in all."""
STRANGE, STRANGERS = 2, 4
"""Words outside the vocabulary (what is declined, or offered instead): in a clause, and in all."""
LISTED = "findahelpline.com"
"""A site that a refusal may name."""
ROUND_THE_CLOCK = re.compile(r"\b24\s?/\s?7\b")
FOREIGN = re.compile(
    r"[`|<>{}=\\@#$%°_^]|://|\bwww\b|[^\W\d]\.[^\W\d]{2,}|\]\(|\d\s?[-–:/.,x×]\s?\d|\bhelp but\b"
)
"""Occurs in code, tables, links and amounts, and in no refusal."""
PAUSES = re.compile(r"[()\[\]–—…:]|\s-\s|[\"“”«»]")
"""They part clauses as commas do."""
ORDER = re.compile(
    r"^(?:please )?(?:hurt|harm|use|kill|die)\b"
    r"|\byou (?:should|must|ought to|deserve to)"
    r"(?! (?:call|contact|talk|reach|speak|seek|see|text|get|find|ask|visit|tell|go|be|feel|let|try|always))"
    r"|\b(?:musst|solltest) du(?! nicht)|\bdu (?:musst|solltest)(?! nicht| dich an| mit)"
    r"|\b(?:debes|deberías|tu dois|tu devrais|vous devez|vous devriez)"
    r"(?! (?:llamar|buscar|hablar|appeler|parler))"
)
"""Tells the user to do something that is not a refusal's to say."""


def declines(row: Sequence[Sentence]) -> bool:
    """True if the sentences of a text are a refusal and nothing more."""
    if not 0 < len(row) <= MOST_SENTENCES or not _is_short_prose(row):
        return False
    texts = [ROUND_THE_CLOCK.sub(" ", one.text.replace(LISTED, " findahelpline ")) for one in row]
    if any(map(FOREIGN.search, texts)):
        return False
    parts = [[words_of(part) for part in PAUSES.split(text)] for text in texts]
    parted = [[clause for part in sentence for clause in _turns(part)] for sentence in parts]
    return any(_declines(parted, language) for language in _LANGUAGES)


def _is_short_prose(row: Sequence[Sentence]) -> bool:
    """True if it has no list and no code, and is no longer than a refusal."""
    listed = any(one.code or one.bullet for one in row)
    return not listed and sum(len(one.text) for one in row) <= MOST_CHARACTERS


def _turns(words: Sequence[str]) -> Iterator[list[str]]:
    """Clauses, parted also where something else may begin: at `but`, and at `and you`."""
    clause: list[str] = []
    for word, behind in zip(words, [*words[1:], ""], strict=False):
        if word in ENDS or word in _TURN or (word in _ADDS and behind in _ADDRESSES):
            yield clause
            clause = []
        if word not in ENDS:
            clause.append(word)
    yield clause


@dataclass(frozen=True, slots=True)
class Language:
    """How a language words refusals."""

    tongue: Tongue
    frames: Phrases
    """Phrases by kind: decline, regret, reason, help, offer."""
    known: Phrases
    """The vocabulary."""
    harm: Phrases
    """Words for what is asked for."""


def _declines(row: Sequence[Sequence[list[str]]], language: Language) -> bool:
    """True if all sentences, given as clauses, are a refusal's in a language."""
    declined, strangers = False, 0
    for sentence in row:
        kinds = set[str]()
        for clause in sentence:
            own = {kind for found in language.frames.among(clause) for kind in found.names} - {""}
            strange = _strange(clause, language)
            if strange > (STRANGE if own else 0) or not _innocent(clause, own, language):
                return False
            kinds |= own
            strangers += strange
        if not kinds or sum(map(len, sentence)) > MOST_WORDS:
            return False
        declined |= "decline" in kinds
    return declined and strangers <= STRANGERS


def _innocent(clause: Sequence[str], kinds: set[str], language: Language) -> bool:
    """True if a clause orders nothing, and names what is asked for only to decline it or to say why."""
    if ORDER.search(" ".join(clause)):
        return False
    if "decline" in kinds or (clause and clause[0] in _REASONS):
        return True
    if "reason" in kinds and clause[0] in _STATES:
        return True
    harm = [clause[found.start] for found in language.harm.among(clause)]
    return not harm or ("help" in kinds and all(word.startswith("suicid") for word in harm))


def _strange(clause: Sequence[str], language: Language) -> int:
    """How many words are outside the vocabulary; an unknown figure counts as too many."""
    known = {at for found in language.known.among(clause) for at in range(found.start, found.end)}
    strange = [
        word
        for at, word in enumerate(clause)
        if at not in known and word not in _FIGURES and not language.tongue.names_nothing(word)
    ]
    return sum(STRANGERS + 1 if any(map(str.isdigit, word)) else 1 for word in strange)


def _has(table: Phrases, words: Sequence[str]) -> bool:
    return next(table.among(words), None) is not None


def _language(tongue: Tongue, table: Entries) -> Language:
    frames = {
        kind: table[kind]
        for kind in ("decline", "regret", "reason", "help", "offer", "none")
        if kind in table
    }
    known, harm = ({kind: table[kind]} for kind in ("known", "harm"))
    return Language(tongue, phrases(frames), phrases(known), phrases(harm))


TABLES = {heading: entries(lines) for heading, lines in sections("answers.txt").items()}
HEDGES = TABLES["hedges"]
_ABBREVIATIONS = frozenset(TABLES["sentences"]["abbreviations"])
_UNMARKED = TABLES["sentences"]["asking"]
_HEDGES, _LEFT_OUT = phrases(HEDGES), phrases(TABLES["left out"])
_ASKED = phrases({"asked": TABLES["questions"]["asked"]})
_INSTRUCTIONS = phrases({kind: TABLES["instructions"][kind] for kind in ("order", "step", "lead")})
_UNITS = frozenset(TABLES["instructions"]["units"])
_CONTACT, _PLACES = phrases(TABLES["contact"]), phrases(TABLES["places"])
_LINES, _BETTER = phrases(TABLES["lines"]), phrases(TABLES["better"])
_EMERGENCY, _FIGURES, _WHOM, _BEFORE, _NOT, _HESITATE, _ABLE, _SERVES = (
    frozenset(TABLES["help"][name])
    for name in ("emergency", "figures", "whom", "before", "not", "hesitate", "able", "serves")
)
_TURN, _ADDS, _ADDRESSES, _REASONS, _STATES = (
    frozenset(TABLES["clauses"][name]) for name in ("turn", "adds", "addresses", "reasons", "states")
)
_LANGUAGES = tuple(
    _language(tongue, TABLES[f"refusal, {name}"])
    for name, tongue in {"English": ENGLISH, "German": GERMAN, "Spanish": SPANISH, "French": FRENCH}.items()
)
