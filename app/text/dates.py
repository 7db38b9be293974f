"""Dates in texts: expressions of time in English, German, Spanish and French, and the days they mean.

A text becomes a string with one letter a word, and expressions are patterns over it: `last spring` is `LS`,
`7 May 2023` is `DMY`. Days are UTC days, spans half open. A day without a year is any year's, or the nearest
one where a memory has a day. `a week ago` is as wide as a week. The days of a memory are noted when it is
written, because reading them takes a tenth of a millisecond. Pure; raises nothing for years in KNOWABLE. Why:
docs/adr/0004.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import islice

from app.text.languages import words
from app.text.memo import Text, known, once, remembered
from app.types import KNOWABLE, Passage

WORD = re.compile(
    r"[^\W\d_]+|\d{4}-\d\d-\d\d(?!\d)|\d\d?\.\d\d?\.\d{4}(?!\d)|\d{1,3}[.,]\d{1,2}(?![\d.])|\d+"
)
MONTHS = (
    "january jan januar janner enero janvier|february feb februar febrero fevrier|march marz marzo mars"
    "|april apr abril avril|may mai mayo|june jun juni junio juin|july jul juli julio juillet"
    "|august aug agosto aout|september sep sept septiembre septembre|october oct oktober okt octubre octobre"
    "|november nov noviembre novembre|december dec dezember dez diciembre decembre"
)
SEASONS = (
    "winter invierno hiver|spring springtime fruhling fruhjahr primavera printemps"
    "|summer summertime sommer verano ete|autumn fall herbst otono automne"
)
WEEKDAYS = (
    "monday montag lunes lundi|tuesday dienstag martes mardi|wednesday mittwoch miercoles mercredi"
    "|thursday donnerstag jueves jeudi|friday freitag viernes vendredi"
    "|saturday samstag sonnabend sabado samedi|sunday sonntag domingo dimanche"
)
UNITS = (
    "day days tag tage tagen dia dias jour jours night evening afternoon nacht abend noche nuit soir"
    " morning mornings matin"
    "|week weeks woche wochen semana semanas semaine semaines|weekend weekends wochenende finde"
    "|month months monat monate monaten mes meses mois"
    "|year years jahr jahre jahren jahres ano anos ans annee annees"
)
DAY, WEEK, WEEKEND, MONTH, YEAR = range(5)
"""Units, as numbers of their place in UNITS."""
NUMBERS = (
    "a an one ein eine einem einer un una une|two zwei dos deux couple|three few drei tres trois"
    "|four vier cuatro quatre|five funf cinco cinq|six sechs seis|seven sieben siete sept"
    "|eight acht ocho huit|nine neun nueve neuf|ten zehn diez dix|eleven elf onze|twelve zwolf doce douze"
    "|thirteen dreizehn trece treize|fourteen vierzehn catorce quatorze|fifteen funfzehn quince quinze"
    "|sixteen sechzehn dieciseis seize|seventeen siebzehn diecisiete|eighteen achtzehn dieciocho"
    "|nineteen neunzehn diecinueve|twenty zwanzig veinte vingt"
)
TENS = (
    "thirty dreissig dreißig treinta trente|forty vierzig cuarenta quarante|fifty funfzig cincuenta cinquante"
    "|sixty sechzig sesenta soixante|seventy siebzig setenta|eighty achtzig ochenta|ninety neunzig noventa"
)
RELATIVE = {
    -2: "vorgestern anteayer antier",
    -1: "yesterday gestern ayer",
    0: "today tonight heute hoy",
    1: "tomorrow demain",
    2: "ubermorgen",
}
KINDS = {
    "L": "last previous letzte letzten letzter letztes letztem vorige vorigen voriges"
    " vergangene vergangenen vergangenes",
    "l": "pasado pasada pasados pasadas ultimo ultima ultimos ultimas"
    " dernier derniere derniers dernieres passe passee",
    "T": "this current diese diesen dieser dieses diesem este esta ce cet cette",
    "X": "next coming nachste nachsten nachster nachstes nachstem kommende kommenden kommendes",
    "x": "proximo proxima prochain prochaine",
    "A": "ago earlier",
    "V": "hace",
    "v": "vor",
    "P": "during around im wahrend en durante durant pendant au",
    "O": "on am",
    "Q": "between from zwischen von entre",
    "&": "and to und y et",
    "s": "since seit desde depuis",
    "b": "until till bis hasta jusqu",
    "a": "after nach despues apres",
    "d": "by",
    "n": "half hundred thousand hundert tausend cien ciento cent mil mille",
    "w": "mar",
    "k": "meters metres meter miles kilometers kilometres km words pages people steps dollars euros euro"
    " pounds feet calories characters metern worte worter wortern seiten schritte schritten menschen leute"
    " metros kilometros palabras paginas personas pasos mots personnes pas",
    "": "the of de du del le la les el los las der den dem des d l early late mid beginning middle end start"
    " st nd rd th er",
}
"""`l` and `x` may stand behind what they turn; `O` stands before days alone; `Q` and `&` make `from May to
July`; `d` bounds whole days alone; `n` is a number that is not read, `w` a month beside a number
alone, `k` what a number counts that is no year then; `""`: what may stand between words of time."""
YEARS = range(1900, 2100)
"""Numbers that may be a year."""
Read = tuple[str, int]
"""A kind, and its number (0 where it has none)."""
EXCLUSIVE: dict[str, Read] = dict.fromkeys(("before", "avant", "antes"), ("b", 1))
"""`until May` has May in it, `before May` has not."""
SPECIAL: dict[str, Read] = {
    "may": ("m", 5),
    "march": ("m", 3),
    "mar": ("w", 3),
    "past": ("L", 1),
    **dict.fromkeys(("in", "dans", "dentro"), ("P", 1)),
    **{f"last{unit}": ("E", number) for number, unit in enumerate(("day", "week", "weekend", "month"))},
}
"""`the past month` ends today, `in two weeks` is to come; `lastday` is a phrase (`the last day of`)."""


def numbered(kind: str, table: str, first: int) -> Iterator[tuple[str, Read]]:
    """The words of a table, each with its place."""
    for number, names in enumerate(table.split("|"), first):
        yield from ((name, (kind, number)) for name in names.split())


def known_words() -> Mapping[str, Read]:
    """Every word of time."""
    kinds = {name: (kind, 0) for kind, names in KINDS.items() for name in names.split()}
    days = {name: ("R", number) for number, names in RELATIVE.items() for name in names.split()}
    tables = [("N", NUMBERS, 1), ("U", UNITS, 0), ("W", WEEKDAYS, 0), ("S", SEASONS, 0)]
    tables.append(("M", MONTHS, 1))
    counted = {word: read for each in tables for word, read in numbered(*each)}
    tens = {name: ("N", number * 10) for name, (_, number) in numbered("N", TENS, 3)}
    return kinds | days | counted | tens | dict(figures()) | SPECIAL | EXCLUSIVE


def figures() -> Iterator[tuple[str, Read]]:
    """Days of a month, with and without their zero, and years."""
    for day in range(1, 32):
        yield from ((written, ("D", day)) for written in (str(day), f"{day:02}"))
    yield from ((str(year), ("Y", year)) for year in YEARS)


KNOWN = known_words()
HINTS = frozenset(
    {word for word, (kind, _) in KNOWN.items() if kind in tuple("MmwSWUR")}
    | {str(year) for year in YEARS}
    | {"hier", "aujourd", "an", "week", "fin", "manana"}
)
"""One of them is in every expression; the last are of phrases."""
SIGNS = "-.,;:!?'\"()/*_~`#|[]{}<>\u201c\u201d\u2013\u2014\xab\xbb\xbf\xa1"
"""Marks that part words."""
MARKS = str.maketrans(dict.fromkeys(SIGNS, " "))


PHRASES = {
    "il y a": "hace",
    "day before yesterday": "vorgestern",
    "avant-hier": "vorgestern",
    "antes de ayer": "vorgestern",
    "day after tomorrow": "ubermorgen",
    "pasado manana": "ubermorgen",
    "apres-demain": "ubermorgen",
    "aujourd'hui": "heute",
    "esta manana": "heute",
    "un an": "une annee",
    "l'an": "annee",
    "half a year": "6 months",
    "in a few": "few",
    "week-end": "weekend",
    "fin de semana": "weekend",
    "que viene": "proximo",
    "last day of": "lastday",
    "last week of": "lastweek",
    "last weekend of": "lastweekend",
    "last month of": "lastmonth",
    "letzten tag im": "lastday",
    "letzten woche im": "lastweek",
    "ultimo dia de": "lastday",
    "ultima semana de": "lastweek",
    "dernier jour de": "lastday",
    "derniere semaine de": "lastweek",
}
"""Several words that are one."""
HIER = re.compile(r"\bhier\b")
PHRASE = re.compile(rf"\b(?:{'|'.join(PHRASES)})\b")
PARTS = (
    *("'", "-", "il y a", "terday", "ayer", "tomorrow", "nana", "un an", "half a y", "n a few", "semana"),
    *("e viene", "last ", "letzten ", "imo dia", "dernier"),
)
"""One of them is in every phrase: fewer to look for."""
FRENCH = re.compile(r"\b(?:je|j|tu|il|elle|nous|vous|ils|le|la|les|est|ai|que|qu)\b")
"""Beside one of these `hier` is yesterday, and not the German for here."""
NAMES = re.compile(r"Ma(?<!\wMa)(?:(?:y|rch)\b|(?<!\d Ma)rs\b)")
"""Months that are verbs, too, where they are not written as names (the kind `m`); `Mars` is a planet. Each
pattern begins with its letters, which are found sooner than the beginning of a word."""
NAMED = {"May": "mai", "March": "marz", "Mars": "planet"}
OTHERWISE = (
    ("sept ", re.compile(r"sept(?<!\wsept) (?=jours|semaines|mois|ans|annees)"), "7 "),
    ("mes ", re.compile(r"mes(?<!\wmes) (?=dernier|prochain|passe)"), "mis "),
    ("for the ", re.compile(r"for(?<!\wfor) (?=the (?:spring|summer|autumn|winter)\b)"), "during "),
    (
        " of ",
        re.compile(
            r"(?:fall(?<!\wfall)|spring(?<!\wspring)|summer(?<!\wsummer)|autumn(?<!\wautumn)|winter(?<!\wwinter))"
            r" of (?!(?:the )?(?:year|\d))"
        ),
        "of ",
    ),
    (
        "may ",
        re.compile(
            r"may(?<!\wmay) (?=(?:be|have|not|well|also|never|only|still|the|i|you|we|they|he|she|it)\b)"
        ),
        "can ",
    ),
)
"""Words of time that mean something else beside these: where they may stand, where they do, and what for."""


FEW = 16
"""Accents that are taken out one after the other."""


def bare(text: str) -> str:
    if text.isascii():
        return text
    text = unicodedata.normalize("NFKD", text.replace("\u2019", "'"))
    marks = [sign for sign in set(text) if sign >= "\u0300" and unicodedata.combining(sign)]
    if len(marks) > FEW:
        return "".join(sign for sign in text if not unicodedata.combining(sign))
    for mark in marks:
        text = text.replace(mark, "")
    return text


def timeless(text: str) -> bool:
    """True if no word of it can make an expression of time: most texts have none, and this is soon seen."""
    return HINTS.isdisjoint(text.lower().translate(MARKS).split())


def hinted(word: str) -> bool:
    """True if a word, in lower case and maybe with marks, is not `timeless`: at a third of its price."""
    core = word.strip(SIGNS)
    return core in HINTS if core.isalnum() else not timeless(core)


def plain(text: str) -> str:
    """A `bare` text in lower case, phrases and names as one word each."""
    if "Ma" in text:
        text = NAMES.sub(lambda found: NAMED[found[0]], text)
    low = text.lower()
    if any(map(low.__contains__, PARTS)):
        low = PHRASE.sub(lambda found: PHRASES[found[0]], low)
    for sign, pattern, word in OTHERWISE:
        if sign in low:
            low = pattern.sub(word, low)
    return HIER.sub("gestern", low) if "hier" in low and FRENCH.search(low) else low


MOST = 1_000
"""Characters that are read of a text: a tenth of a millisecond."""
MANY = 8
"""Expressions of one text: more are a list, or an attack."""
WORDS, NEAR = 48, 6
"""Words that are read of a text, and how far from a word of time."""
DATE = "I|D[Mw]Y?|[Mw]DY?|MY|DmY|mDY|[mw]Y|(?<=[POQsbavd&])(?:Dm|mD)"
COUNT = "[NDC]U"
POINT = "I|D[Mmw]Y?|[Mmw]D?Y?|SY?|Y"
FORMS = re.compile(
    r"(?=[RI]|[^.][^.])"  # else it is none: most words are told by this alone
    rf"(?:(?P<between>(?:Q(?:{POINT}|D)[&b]|s(?:{POINT})b)(?:{POINT})(?!k))"
    rf"|(?P<beside>(?:(?:[NDC]?U|W)[ba]|[NDC]Uv)(?:{DATE}))|(?P<date>{DATE})|(?P<season>SY)"
    rf"|(?P<range>[Ll]{COUNT})|(?P<edge>E(?:[Mmw]Y?|Y))"
    r"|(?P<turn>[LlTXx](?:[MS](?![YD])|[WU])|[LX]m(?![YD])|[MSWU][lx])"
    rf"|(?P<ago>(?<![NDCn]){COUNT}A|[Vv]{COUNT})|(?P<hence>P{COUNT}(?![Aba]))|(?P<word>R)"
    r"|(?P<bare>[Psbav](?:S(?!Y)|[Mm](?![YD])|Y(?!k))|[Osba]W(?![bav])))"
)
"""Longest first. A month or a season that nothing stands beside may be a name or a verb."""
BOUNDS = {"s": "s", "b": "b", "a": "a", "v": "B", "d": "b"}
NOTHING: Read = (".", 0)
UNKNOWN = (NOTHING,)
ALONE = {word: (read,) for word, read in KNOWN.items()}
ADJACENT = re.compile("[Nn][Nn]")
ARTICLE: Read = ("N", 1)
NUMERAL = frozenset("Nn")
SHORTEST = len("7.5.2023")
TEN = 10
DIGITS = 3
"""Of the highest number that counts days or weeks."""


@dataclass(frozen=True, slots=True)
class Expression:
    """Words of time that belong together."""

    form: str
    """A name of FORMS."""
    letters: str
    """Kinds of its words."""
    numbers: tuple[int, ...]
    """And their numbers."""
    bound: str = ""
    """`s` since, `b` until, `B` before (as `v`), `a` after; "": the very time."""

    def number(self, kinds: str) -> int | None:
        """That of its first word of one of these kinds."""
        for letter, number in zip(self.letters, self.numbers, strict=True):
            if letter in kinds:
                return number
        return None


@once
def expressions(text: str) -> tuple[Expression, ...]:
    """The first MANY, each once, in their order."""
    text = bare(text[:MOST])[:MOST]  # accents and ligatures may be more without them
    near = excerpt(text)
    if not near:
        return ()
    read = reads(plain(near))
    letters = "".join([letter for letter, _ in read])
    every = (expression(found, read) for found in islice(FORMS.finditer(letters), MANY))
    return tuple(dict.fromkeys(every))


def excerpt(text: str) -> str:
    """Of a long text the words that stand near one of time, the first WORDS of them; "": there is none."""
    low = text.lower()
    words = low.split()
    if len(words) <= WORDS:
        return "" if timeless(text) else text
    near = places(words)
    if "Ma" in text:  # names are written with capitals
        words = text.split()
    return " ".join([f"x {' '.join(words[first:end])}" for first, end in near])


def places(words: Sequence[str]) -> list[tuple[int, int]]:
    """Where those are, as half-open stretches of which no two touch."""
    near: list[tuple[int, int]] = []
    found = end = 0
    for at in [at for at, word in enumerate(words) if word in HINTS or (not word.isalnum() and hinted(word))]:
        first, last = max(at - NEAR, end), min(at + NEAR, len(words))
        found += last - first
        if near and first == end:
            first, _ = near.pop()
        near.append((first, last))
        end = last
        if found > WORDS:
            break
    return near


def expression(found: re.Match[str], read: list[Read]) -> Expression:
    """One, and what bounds it: the word before, or its own first."""
    start, form = found.start(), str(found.lastgroup)
    at = start if form == "bare" else start - 1
    letter, number = read[at] if at >= 0 else NOTHING
    bound = "" if form == "between" else "B" if number and letter == "b" else BOUNDS.get(letter, "")
    return Expression(form, found[0], tuple(number for _, number in read[start : found.end()]), bound)


def reads(text: str) -> list[Read]:
    """Its words: kind and number. What stands between words of time without meaning one is left out."""
    every = [ALONE.get(word) or (UNKNOWN if word.isalpha() else marked(word)) for word in text.split()]
    read = [found for word in every for found in word if found[0]]
    return joined(read) if ADJACENT.search("".join([kind for kind, _ in read])) else read


def marked(word: str) -> Sequence[Read]:
    """One with digits or marks: mostly a mark at its end."""
    core = word.strip(SIGNS)
    if found := ALONE.get(core):
        return found
    if core.isalpha() or (core.isdecimal() and len(core) > DIGITS):
        return UNKNOWN
    return [KNOWN.get(each) or (written(each) if each[0] <= "9" else NOTHING) for each in WORD.findall(word)]


def joined(every: list[Read]) -> list[Read]:
    """The same, with one number for the words of one."""
    read: list[Read] = []
    before = ""
    for found in every:
        kind = found[0]
        if kind in NUMERAL and before in NUMERAL:
            read[-1] = together(read[-1], found)
            before = read[-1][0]
        else:
            read.append(found)
            before = kind
    return read


def together(one: Read, other: Read) -> Read:
    """Two words of one number: `a few`, `twenty two`; any other is not read."""
    if one == ARTICLE:
        return other
    tens = one[0] == other[0] == "N" and one[1] >= 2 * TEN and not one[1] % TEN and other[1] < TEN
    return ("N", one[1] + other[1]) if tens else ("n", 0)


def written(word: str) -> Read:
    """`2023-05-07` or `7.5.2023`, as the ordinal of the day, and `45`; any other word is nothing of time."""
    if word.isdecimal():
        return ("C", int(word)) if len(word) <= DIGITS else NOTHING
    if len(word) < SHORTEST:
        return "n", 0
    parts = word.split("-") if "-" in word else word.split(".")[::-1]
    try:
        year, month, day = map(int, parts)
        return ("I", date(year, month, day).toordinal()) if year in KNOWABLE else NOTHING
    except ValueError:
        return NOTHING


LEAP = 2000
"""The year in which days without a year are written."""
FIRST, LAST = date(1000, 1, 1), date(3000, 1, 1)
"""Before and after everything."""
ONE = timedelta(days=1)
WEEK_DAYS, MONTHS_OF_YEAR, SATURDAY = 7, 12, 5
FEBRUARY, LEAP_DAY = 2, 29


@dataclass(frozen=True, slots=True)
class Span:
    """Days from `start` to before `end`; `yearly`: those of any year, written in the year LEAP."""

    start: date
    end: date
    yearly: bool = False

    def of(self, year: int) -> "Span":
        """Itself, or that of a year; the last day of February is the last of one that has no 29th."""
        if not self.yearly:
            return self
        by = year - LEAP
        end = moved(self.end, by) if self.end.day == 1 else moved(self.end - ONE, by) + ONE
        return Span(moved(self.start, by), end)


def moved(day: date, years: int) -> date:
    """The same day so many years later; 28 February for the 29th where there is none."""
    if day.month == FEBRUARY and day.day == LEAP_DAY:
        return shifted(day, years * MONTHS_OF_YEAR)
    return day.replace(year=day.year + years)


class Times:
    """Spans as ordinals, sorted and without overlaps, to be compared with many. Yearly ones stand in LEAP
    and in the years beside it, and what is compared with them is seen there."""

    def __init__(self, spans: Iterable[Span] = ()) -> None:
        spans = tuple(spans)
        every = (each.of(LEAP + by) for each in spans if each.yearly for by in (-1, 0, 1))
        self._yearly = united(every)
        self._fixed = united(each for each in spans if not each.yearly)

    def share(self, other: Span) -> float:
        """Which part of another, that has its year, lies in them: in [0, 1]."""
        found = inside(self._fixed, other.start.toordinal(), other.end.toordinal()) if self._fixed else 0.0
        if found == 1 or not self._yearly:
            return found
        by = LEAP - other.start.year
        start, last = moved(other.start, by), moved(other.end - ONE, by)
        return max(found, inside(self._yearly, start.toordinal(), last.toordinal() + 1))


def united(spans: Iterable[Span]) -> list[tuple[int, int]]:
    """Their days as ordinals, each once."""
    found: list[tuple[int, int]] = []
    for start, end in sorted((each.start.toordinal(), each.end.toordinal()) for each in spans):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


def inside(spans: list[tuple[int, int]], start: int, end: int) -> float:
    """Which part of some days lies in them."""
    at = bisect_right(spans, (start, end))
    days = 0
    for first, last in spans[max(0, at - 1) :]:
        if first >= end:
            break
        days += max(0, min(end, last) - max(start, first))
    return days / (end - start)


def shifted(day: date, months: int) -> date:
    """The same day so many months later, the last one of a month that has it not."""
    year, month = divmod(day.year * MONTHS_OF_YEAR + day.month - 1 + months, MONTHS_OF_YEAR)
    last = (date(year + month // 11, (month + 1) % MONTHS_OF_YEAR + 1, 1) - ONE).day
    return date(year, month + 1, min(day.day, last))


def later(day: date, count: int, unit: int) -> date:
    """So many units later."""
    if unit in (DAY, WEEK, WEEKEND):
        return day + timedelta(days=count * (1 if unit == DAY else WEEK_DAYS))
    return shifted(day, count * (1 if unit == MONTH else MONTHS_OF_YEAR))


def around(day: date, unit: int) -> Span:
    """The day, week, weekend, month or year that it is in."""
    monday = day - timedelta(days=day.weekday())
    if unit == DAY:
        return Span(day, day + ONE)
    if unit in (WEEK, WEEKEND):
        start = monday + timedelta(days=SATURDAY) if unit == WEEKEND else monday
        return Span(start, monday + timedelta(days=WEEK_DAYS))
    start = day.replace(day=1) if unit == MONTH else date(day.year, 1, 1)
    return Span(start, later(start, 1, unit))


WINTER = 0
"""The season that two years share."""


def months(first: int, count: int) -> Span:
    start = date(LEAP, first, 1)
    return Span(start, shifted(start, count), yearly=True)


def season(number: int) -> Span:
    """Of any year; winter begins in December."""
    return months(MONTHS_OF_YEAR if number == WINTER else 3 * number, 3)


def in_year(span: Span, year: int | None) -> Span:
    """Of that year; None: of any."""
    return span if year is None else span.of(year)


def nearest(span: Span, at: date) -> Span:
    """Of the year in which it lies nearest to a day."""
    here = span.of(at.year)
    if not span.yearly or here.start <= at < here.end:
        return here
    return min(here, span.of(at.year + (1 if at >= here.end else -1)), key=lambda each: gap(each, at))


def gap(span: Span, at: date) -> int:
    """Days between it and a day."""
    return max((span.start - at).days, (at - span.end).days + 1, 0)


def resolved(found: Expression, at: date) -> Span | None:
    """Its days as they are seen from a day, whatever bounds them; None: there are no such days."""
    try:
        return RESOLVE[found.form](found, at)
    except (ValueError, OverflowError):  # 30 February, a thousand years ago
        return None


def named(found: Expression, _: date) -> Span:
    """`7 May 2023`, `May 2023`, `7 May`."""
    ordinal, year = found.number("I"), found.number("Y")
    if ordinal is not None:
        return around(date.fromordinal(ordinal), DAY)
    month, day = found.number("Mmw") or 1, found.number("D")
    if day is None:
        return in_year(months(month, 1), year)
    start = date(LEAP if year is None else year, month, day)
    return Span(start, start + ONE, yearly=year is None)


def bare_name(found: Expression, _: date) -> Span:
    """`in May`, `in summer 2021`, `in 2021`."""
    year, month, number = found.number("Y"), found.number("Mmw"), found.number("S")
    if month is None and number is None:
        return around(date(year or LEAP, 1, 1), YEAR)
    return in_year(season(number) if number is not None else months(month or 1, 1), year)


def weekly(found: Expression, at: date) -> Span:
    """`on Monday`: the last one, today included; what is told is mostly over."""
    return around(at - timedelta(days=(at.weekday() - (found.number("W") or 0)) % WEEK_DAYS), DAY)


def between(found: Expression, at: date) -> Span | None:
    """`from May to July 2023`: both included; the year of the second is that of the first, too."""
    cut = next(n for n, letter in enumerate(found.letters) if n and letter in "&b")
    first = Expression("", found.letters[1:cut], found.numbers[1:cut])
    last = Expression("", found.letters[cut + 1 :], found.numbers[cut + 1 :])
    if first.letters == "D":
        first = lent(first, "M", last.number("Mmw"))
    if set(first.letters) & set("IY"):
        return stretch(point(first, at), point(last, at), 0)
    whole = lent(first, "Y", last.number("Y"))
    return stretch(point(whole, at), point(last, at), int(whole != first))


def lent(found: Expression, letter: str, number: int | None) -> Expression:
    """With a word of another's, if that has one."""
    return found if number is None else Expression("", found.letters + letter, (*found.numbers, number))


def stretch(first: Span | None, last: Span | None, lent: int) -> Span | None:
    """From the one to the other; over the turn of the year where the year is not told, or told (`lent`) of
    the last alone."""
    if first is None or last is None or first.yearly != last.yearly:
        return None
    start, end = first.start, last.end
    if end <= start and first.yearly:
        end = shifted(end, MONTHS_OF_YEAR)
    elif end <= start:
        start = shifted(start, -MONTHS_OF_YEAR * lent)
    return Span(start, end, first.yearly) if start < end else None


def point(found: Expression, at: date) -> Span | None:
    """One end of it."""
    if set(found.letters) in ({"D"}, {"D", "Y"}):
        return None
    return bare_name(found, at) if set(found.letters) <= set("SY") else named(found, at)


def edge(found: Expression, at: date) -> Span | None:
    """`the last week of May`, `the last day of 2023`."""
    whole = point(Expression("", found.letters[1:], found.numbers[1:]), at)
    unit = found.numbers[0]
    if whole is None or (whole.yearly and unit == WEEKEND):
        return None
    if unit == MONTH:
        return Span(shifted(whole.end, -1), whole.end, whole.yearly)
    if unit == WEEKEND:
        return around(whole.end - (whole.end.weekday() + 1) * ONE, WEEKEND)
    return Span(whole.end - (1 if unit == DAY else WEEK_DAYS) * ONE, whole.end, whole.yearly)


def hence(found: Expression, at: date) -> Span | None:
    """`in two weeks`; `in a week` is more often a measure."""
    count = found.numbers[1]
    return ahead(found, at, count) if found.numbers[0] and count > 1 else None


def counted(found: Expression, at: date) -> Span:
    return ahead(found, at, -(found.number("NDC") or 1))


def ahead(found: Expression, at: date, count: int) -> Span:
    """So many units later: as wide as a unit is."""
    unit = found.number("U") or DAY
    then = later(at, count, unit)
    if unit == WEEK:
        return Span(then - 3 * ONE, then + 4 * ONE)
    return around(then, unit)


def lately(found: Expression, at: date) -> Span:
    """`the last two weeks`."""
    return Span(later(at, -(found.number("NDC") or 1), found.number("U") or DAY), at + ONE)


def beside(found: Expression, at: date) -> Span | None:
    """`the week before 3 June`: up to that day, on which it is told."""
    cut = 1 + next(n for n, letter in enumerate(found.letters) if letter in "bav")
    day = named(Expression("date", found.letters[cut:], found.numbers[cut:]), at)
    span = nearest(day, at)
    count = found.numbers[0] if found.letters[0] in "NDC" else 1
    unit = WEEK if found.letters[0] == "W" else found.number("U") or DAY
    if found.letters[cut - 1] != "a":
        return Span(later(span.start, -count, unit), span.end)
    return Span(span.start, later(span.end, count, unit))


def turned(found: Expression, at: date) -> Span:
    """`last spring`, `next Tuesday`, `this year`: seen from the day, the nearest that is over or to come, or
    that of this week or year."""
    step = next(step for kinds, step in (("Ll", -1), ("T", 0), ("Xx", 1)) if set(kinds) & set(found.letters))
    unit, weekday = found.number("U"), found.number("W")
    if unit is not None:
        past = found.number("L") == 1 and unit not in (DAY, WEEKEND)
        then = later(at if unit == DAY else around(at, unit).start, step, unit)
        return lately(found, at) if past else around(then, unit)
    return the_weekday(weekday, at, step) if weekday is not None else part(found, at, step)


def part(found: Expression, at: date, step: int) -> Span:
    """`last spring`, `this May`."""
    number = found.number("S")
    span = season(number) if number is not None else months(found.number("Mmw") or 1, 1)
    if step:
        return chosen(span, at, step)
    return nearest(span, at) if number == WINTER else span.of(at.year)


def the_weekday(weekday: int, at: date, step: int) -> Span:
    """The last one before a day, that of its week, or the first after it."""
    days = weekday - at.weekday()
    if step > 0:
        days = days % WEEK_DAYS or WEEK_DAYS
    if step < 0:
        days = days % WEEK_DAYS - WEEK_DAYS
    return around(at + timedelta(days=days), DAY)


def chosen(span: Span, at: date, step: int) -> Span:
    """The last that is over, or the first that begins later."""
    every = [span.of(at.year + by) for by in (-2, -1, 0, 1)]
    if step < 0:
        return max((each for each in every if each.end <= at), key=lambda each: each.end)
    return min((each for each in every if each.start > at), key=lambda each: each.start)


RESOLVE: dict[str, Callable[[Expression, date], Span | None]] = {
    "beside": beside,
    "date": named,
    "season": bare_name,
    "range": lately,
    "turn": turned,
    "ago": counted,
    "hence": hence,
    "between": between,
    "edge": edge,
    "word": lambda found, at: around(at + timedelta(days=found.numbers[0]), DAY),
    "bare": lambda found, at: weekly(found, at) if "W" in found.letters else bare_name(found, at),
}

VERSION = 1
"""Raised with every change of `almanac`, `when`, `span` or `calendar` that reads other days."""
TIMED, HEAD = 1, 2
"""Places in a note (`noted`); the days begin behind them."""


def days(passage: Passage) -> Iterator[Span]:
    """All of them, each once."""
    at = passage.said_on
    if at is None:
        return
    yield around(at, DAY)
    yield from remembered(passage.text, (days, at), lambda: spoken(passage.text, at))


def spoken(text: str, at: date) -> tuple[Span, ...]:
    """Those that a text speaks of, seen from a day."""
    day, note = known(text, noted) or (None, ())
    if day == at:
        ends = map(date.fromordinal, note[HEAD:])
        return tuple([Span(start, end) for start, end in zip(ends, ends, strict=True)])
    every = (resolved(each, at) for each in expressions(text))
    return tuple(dict.fromkeys(nearest(span, at) for span in every if span))


def timed(text: str) -> bool:
    """True if it has an expression of time, of whatever days."""
    _, note = known(text, noted) or (None, ())
    return bool(note[TIMED] if note else expressions(text))


def noted(text: str, at: date) -> list[int]:
    """What is kept with a text that is said on a day: VERSION, whether it is `timed`, and of each span of its
    days the first and the one after the last, as ordinals."""
    ends = [end.toordinal() for span in spoken(text, at) for end in (span.start, span.end)]
    return [VERSION, int(timed(text)), *ends]


def recall(text: Text, at: date, note: Sequence[int] | None) -> None:
    """Make a text remember what was noted of it on that day; nothing of another VERSION."""
    if note and note[0] == VERSION:
        text.memo[noted] = (at, note)


OWN = words(
    "i we ich wir yo hice hicimos fui fuimos estuve estuvimos hago hacemos je j nous"
    " happen happens happened happening los passiert geschehen paso pasa pasado ocurrio sucedio passe arrive"
)
"""Who asks, or verbs of what merely was: one is in every such question. Without accents, as all here."""
NAMELESS = words(
    "what where all did do done doing have has had was were am been be go going gone went me my our us ve so"
    " war waren wo habe haben hab hatte hatten bin bist gemacht getan gewesen gegangen mir uns alles"
    " que donde he hemos hecho ido estado era mi mis nuestro todo"
    " qu quoi ou ai avons ete etais etait etions fait fais faite suis alle allee est ce s m mon ma mes"
)
"""Words that name nothing that was done."""
TIMELY = frozenset("MmwSWURLlTXxAVvPOQ&sbaDYNIBE") | {""}
"""Kinds of words of time; what a number counts (`k`) is none."""
LONGEST = 24
"""Words of such a question."""


def timely(text: str) -> bool:
    """True if there is no word but of time and such as name nothing, one of OWN among them; that it names a
    time is asked elsewhere."""
    if len(text) > MOST:
        return False
    found = WORD.findall(plain(bare(text)))
    return len(found) <= LONGEST and not OWN.isdisjoint(found) and all(map(nameless, found))


def nameless(word: str) -> bool:
    """Of time, of no content, or a date in figures."""
    if word in KNOWN:
        return KNOWN[word][0] in TIMELY
    return word in OWN or word in NAMELESS or word.count("-") == 2 or word.count(".") == 2
