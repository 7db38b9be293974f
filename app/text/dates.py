"""Expressions of time in English, German, Spanish and French texts, and the days they mean.

A text becomes a string with one letter per word, and expressions are patterns over it: `last spring` is `LS`,
`7 May 2023` is `DMY`. Days are UTC days, spans half open. A day without a year means any year's, or the
nearest one if the memory has a day. `a week ago` is as wide as a week. Reading a memory takes 20 µs. Pure;
raises nothing for years in KNOWABLE. Why: docs/adr/0004.
"""

import re
import unicodedata
from calendar import monthrange
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import islice

from app.text.languages import words
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
"""Units, numbered by their place in UNITS."""
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
"""`l` and `x` may follow the word they modify; `O` precedes days only; `Q` and `&` make `from May to July`;
`d` bounds whole days only; `n` is a number that is not read, `w` a month only beside a number, `k` a counted
noun whose number is no year; `""`: fillers between words of time."""
YEARS = range(1900, 2100)
"""Numbers that may be a year."""
Read = tuple[str, int]
"""A kind, and its number (0 without one)."""
EXCLUSIVE: dict[str, Read] = dict.fromkeys(("before", "avant", "antes"), ("b", 1))
"""`until May` includes May, `before May` does not."""
SPECIAL: dict[str, Read] = {
    "may": ("m", 5),
    "march": ("m", 3),
    "mar": ("w", 3),
    "past": ("L", 1),
    **dict.fromkeys(("in", "dans", "dentro"), ("P", 1)),
    **{f"last{unit}": ("E", number) for number, unit in enumerate(("day", "week", "weekend", "month"))},
}
"""`the past month` ends today, `in two weeks` is future; `lastday` is a phrase (`the last day of`)."""


def numbered(kind: str, table: str, first: int) -> Iterator[tuple[str, Read]]:
    for number, names in enumerate(table.split("|"), first):
        yield from ((name, (kind, number)) for name in names.split())


def known_words() -> Mapping[str, Read]:
    kinds = {name: (kind, 0) for kind, names in KINDS.items() for name in names.split()}
    days = {name: ("R", number) for number, names in RELATIVE.items() for name in names.split()}
    tables = [("N", NUMBERS, 1), ("U", UNITS, 0), ("W", WEEKDAYS, 0), ("S", SEASONS, 0)]
    tables.append(("M", MONTHS, 1))
    counted = {word: read for each in tables for word, read in numbered(*each)}
    tens = {name: ("N", number * 10) for name, (_, number) in numbered("N", TENS, 3)}
    return kinds | days | counted | tens | dict(figures()) | SPECIAL | EXCLUSIVE


def figures() -> Iterator[tuple[str, Read]]:
    for day in range(1, 32):
        yield from ((written, ("D", day)) for written in (str(day), f"{day:02}"))
    yield from ((str(year), ("Y", year)) for year in YEARS)


KNOWN = known_words()
HINTS = frozenset(
    {word for word, (kind, _) in KNOWN.items() if kind in tuple("MmwSWURY")}
    | {"hier", "aujourd", "an", "week", "fin", "manana"}
)
"""Every expression contains one of them; the last belong to phrases."""
PARTS = re.compile(r"[^\W_]+")

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
"""Several words that are read as one."""
PHRASE_WORDS = frozenset(max(PARTS.findall(phrase), key=len) for phrase in PHRASES)
"""The longest word of each."""
HIER = re.compile(r"\bhier\b")
PHRASE = re.compile(rf"\b(?:{'|'.join(PHRASES)})\b")
FRENCH = re.compile(r"\b(?:je|j|tu|il|elle|nous|vous|ils|le|la|les|est|ai|que|qu)\b")
"""Beside one of these `hier` is yesterday, otherwise the German word for here."""
NAMES = re.compile(r"\b(?:May|March|(?<!\d )Mars)\b")
"""English months that are also verbs unless capitalised (the kind `m`); `Mars` is a planet."""
NAMED = {"May": "mai", "March": "marz", "Mars": "planet"}
NAME_WORDS = words("may march mars")
OTHERWISE = (
    (words("sept"), re.compile(r"\bsept (?=jours|semaines|mois|ans|annees)"), "7 "),
    (words("mes"), re.compile(r"\bmes (?=dernier|prochain|passe)"), "mis "),
    (
        words("spring summer autumn winter"),
        re.compile(r"\bfor (?=the (?:spring|summer|autumn|winter)\b)"),
        "during ",
    ),
    (
        words("fall spring summer autumn winter"),
        re.compile(r"\b(?:fall|spring|summer|autumn|winter) of (?!(?:the )?(?:year|\d))"),
        "of ",
    ),
    (
        words("may"),
        re.compile(r"\bmay (?=(?:be|have|not|well|also|never|only|still|the|i|you|we|they|he|she|it)\b)"),
        "can ",
    ),
)
"""Words of time with another meaning beside certain words: the words, the pattern, the replacement."""


def bare(text: str) -> str:
    if text.isascii():
        return text
    text = unicodedata.normalize("NFKD", text.replace("\u2019", "'"))
    return "".join(sign for sign in text if not unicodedata.combining(sign))


def parts(text: str) -> frozenset[str]:
    return frozenset(PARTS.findall(text.lower()))


def plain(text: str, held: frozenset[str] | None = None) -> str:
    """A `bare` text in lower case, with phrases and names as one word each. `held`: its `parts`, if known."""
    held = parts(text) if held is None else held
    if not held.isdisjoint(NAME_WORDS):
        text = NAMES.sub(lambda found: NAMED[found[0]], text)
    low = text.lower()
    if not held.isdisjoint(PHRASE_WORDS):
        low = PHRASE.sub(lambda found: PHRASES[found[0]], low)
    for needed, pattern, word in OTHERWISE:
        if not held.isdisjoint(needed):
            low = pattern.sub(word, low)
    return HIER.sub("gestern", low) if "hier" in held and FRENCH.search(low) else low


READ_CHARACTERS = 1_000
"""Characters read of a text: a tenth of a millisecond."""
MAX_EXPRESSIONS = 8
"""Expressions read of a text: more are a list, or an attack."""
DATE = "I|D[Mw]Y?|[Mw]DY?|MY|DmY|mDY|[mw]Y|(?<=[POQsbavd&])(?:Dm|mD)"
COUNT = "[NDC]U"
POINT = "I|D[Mmw]Y?|[Mmw]D?Y?|SY?|Y"
FORMS = re.compile(
    rf"(?P<between>(?:Q(?:{POINT}|D)[&b]|s(?:{POINT})b)(?:{POINT})(?!k))"
    rf"|(?P<beside>(?:(?:[NDC]?U|W)[ba]|[NDC]Uv)(?:{DATE}))|(?P<date>{DATE}|SY)"
    rf"|(?P<range>[Ll]{COUNT})|(?P<edge>E(?:[Mmw]Y?|Y))"
    r"|(?P<turn>[LlTXx](?:[MS](?![YD])|[WU])|[LX]m(?![YD])|[MSWU][lx])"
    rf"|(?P<ago>(?<![NDCn]){COUNT}A|[Vv]{COUNT})|(?P<hence>P{COUNT}(?![Aba]))|(?P<word>R)"
    r"|(?P<bare>[Psbav](?:S(?!Y)|[Mm](?![YD])|Y(?!k)))|(?P<weekday>[Osba]W(?![bav]))"
)
"""Longest first. A month or a season alone may be a name or a verb."""
BOUNDS = {"s": "s", "b": "b", "a": "a", "v": "B", "d": "b"}
NOTHING: Read = (".", 0)
ARTICLE: Read = ("N", 1)
NUMERAL = frozenset("Nn")
DIGITS = 3
"""Digits of the highest number that counts days or weeks."""


@dataclass(frozen=True, slots=True)
class Expression:
    """Words of time that belong together."""

    form: str
    """Name of a group of FORMS."""
    letters: str
    """Kinds of its words."""
    numbers: tuple[int, ...]
    """Numbers of its words."""
    bound: str = ""
    """`s` since, `b` until, `B` before (as `v`), `a` after; "": no bound."""

    def number(self, kinds: str) -> int | None:
        for letter, number in zip(self.letters, self.numbers, strict=True):
            if letter in kinds:
                return number
        return None


def expressions(text: str) -> tuple[Expression, ...]:
    text = bare(text[:READ_CHARACTERS])[:READ_CHARACTERS]  # ligatures are longer without accents
    held = parts(text)
    if HINTS.isdisjoint(held):  # most texts, and fast to check
        return ()
    read = reads(plain(text, held))
    letters = "".join(letter for letter, _ in read)
    every = (expression(found, read) for found in islice(FORMS.finditer(letters), MAX_EXPRESSIONS))
    return tuple(dict.fromkeys(every))


def expression(found: re.Match[str], read: list[Read]) -> Expression:
    """An expression and its bound: the word before it, or its own first word."""
    start, form = found.start(), str(found.lastgroup)
    at = start if form in ("bare", "weekday") else start - 1
    letter, number = read[at] if at >= 0 else NOTHING
    bound = "" if form == "between" else "B" if number and letter == "b" else BOUNDS.get(letter, "")
    return Expression(form, found[0], tuple(number for _, number in read[start : found.end()]), bound)


def reads(text: str) -> list[Read]:
    """Kind and number of each word of time. Fillers between them are dropped, words of one number joined, and
    each run of other words becomes one NOTHING."""
    read: list[Read] = []
    last: Read = ("", 0)
    for word in WORD.findall(text):
        found = KNOWN.get(word) or (NOTHING if word[0] > "9" else written(word))
        repeated = found is last is NOTHING  # patterns only see neighbours: one gap is as good as ten
        if repeated or not found[0]:
            continue
        if found[0] in NUMERAL and last[0] in NUMERAL:
            read[-1] = last = together(last, found)
        else:
            read.append(found)
            last = found
    return read


def together(one: Read, other: Read) -> Read:
    """Two words of one number: `a few`, `twenty two`; other pairs are not read (the kind `n`)."""
    if one == ARTICLE:
        return other
    tens = one[0] == other[0] == "N" and one[1] >= 20 and one[1] % 10 == 0 and other[1] < 10
    return ("N", one[1] + other[1]) if tens else ("n", 0)


def written(word: str) -> Read:
    """`2023-05-07` or `7.5.2023` as the ordinal of the day, and `45`; other figures are NOTHING."""
    if word.isdecimal():
        return ("C", int(word)) if len(word) <= DIGITS else NOTHING
    if len(word) < len("7.5.2023"):
        return "n", 0
    parts = word.split("-") if "-" in word else word.split(".")[::-1]
    try:
        year, month, day = map(int, parts)
        return ("I", date(year, month, day).toordinal()) if year in KNOWABLE else NOTHING
    except ValueError:
        return NOTHING


LEAP = 2000
"""The year used for days without a year."""
FIRST, LAST = date(1000, 1, 1), date(3000, 1, 1)
"""Before and after everything."""
ONE = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class DateSpan:
    """Days from `start` to before `end`; `yearly`: of any year, written in the year LEAP."""

    start: date
    end: date
    yearly: bool = False

    def of(self, year: int) -> "DateSpan":
        """The span in a year, if it is yearly; 29 February becomes the 28th in other years."""
        if not self.yearly:
            return self
        months = 12 * (year - LEAP)
        end = shifted(self.end, months) if self.end.day == 1 else shifted(self.end - ONE, months) + ONE
        return DateSpan(shifted(self.start, months), end)


def united(spans: Iterable[DateSpan]) -> list[DateSpan]:
    """The union of spans with a year, in order."""
    found: list[DateSpan] = []
    for each in sorted(spans, key=lambda each: each.start):
        if found and each.start <= found[-1].end:
            found[-1] = DateSpan(found[-1].start, max(found[-1].end, each.end))
        else:
            found.append(each)
    return found


def share(spans: Iterable[DateSpan], other: DateSpan) -> float:
    """The part of `other`, which has a year, that is in the spans: in [0, 1]."""
    year = other.start.year
    years = range(year - 1, min(year + 1, other.end.year) + 1)
    every = united(span.of(each) for span in spans for each in (years if span.yearly else (year,)))
    common = ((min(each.end, other.end) - max(each.start, other.start)).days for each in every)
    return sum(max(0, days) for days in common) / (other.end - other.start).days


def shifted(day: date, months: int) -> date:
    """The same day some months later, or the last day of a shorter month."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def later(day: date, count: int, unit: int) -> date:
    if unit in (DAY, WEEK, WEEKEND):
        return day + timedelta(days=count * (1 if unit == DAY else 7))
    return shifted(day, count * (1 if unit == MONTH else 12))


def around(day: date, unit: int) -> DateSpan:
    """The day, week, weekend, month or year that contains a day."""
    monday = day - timedelta(days=day.weekday())
    if unit == DAY:
        return DateSpan(day, day + ONE)
    if unit in (WEEK, WEEKEND):
        start = monday + timedelta(days=5) if unit == WEEKEND else monday
        return DateSpan(start, monday + timedelta(days=7))
    start = day.replace(day=1) if unit == MONTH else date(day.year, 1, 1)
    return DateSpan(start, later(start, 1, unit))


WINTER = 0
"""The season that begins in December; the others begin in March, June and September."""


def months(first: int, count: int) -> DateSpan:
    start = date(LEAP, first, 1)
    return DateSpan(start, shifted(start, count), yearly=True)


def season(number: int) -> DateSpan:
    return months(12 if number == WINTER else 3 * number, 3)


def nearest(span: DateSpan, at: date) -> DateSpan:
    """The span in the year in which it is nearest to a day."""
    here = span.of(at.year)
    if not span.yearly or here.start <= at < here.end:
        return here
    return min(here, span.of(at.year + (1 if at >= here.end else -1)), key=lambda each: gap(each, at))


def gap(span: DateSpan, at: date) -> int:
    return max((span.start - at).days, (at - span.end).days + 1, 0)


def resolved(found: Expression, at: date) -> DateSpan | None:
    """The days of an expression relative to a day, without its bound; None: impossible."""
    try:
        return RESOLVE[found.form](found, at)
    except (ValueError, OverflowError):  # 29 or 30 February, or a thousand years ago
        return None


def calendar(found: Expression, _at: date) -> DateSpan | None:
    """`7 May 2023`, `May 2023`, `7 May`, `in summer 2021`, `in 2021`; None: a day without a month."""
    ordinal, year = found.number("I"), found.number("Y")
    month, number, day = found.number("Mmw"), found.number("S"), found.number("D")
    if ordinal is not None:
        return around(date.fromordinal(ordinal), DAY)
    if month and day:
        start = date(year or LEAP, month, day)
        return DateSpan(start, start + ONE, yearly=year is None)
    if month or number is not None:
        span = months(month, 1) if month else season(number or 0)
        return span.of(year) if year else span
    return around(date(year, 1, 1), YEAR) if year and not day else None


def weekday(found: Expression, at: date) -> DateSpan:
    """`on Monday`: the last one, today included; most messages are about the past."""
    return around(at - timedelta(days=(at.weekday() - (found.number("W") or 0)) % 7), DAY)


def between(found: Expression, at: date) -> DateSpan | None:
    """`from May to July 2023`: both included; the second year applies to both."""
    cut = next(n for n, letter in enumerate(found.letters) if n and letter in "&b")
    first = Expression("", found.letters[1:cut], found.numbers[1:cut])
    last = Expression("", found.letters[cut + 1 :], found.numbers[cut + 1 :])
    if first.letters == "D":
        first = lent(first, "M", last.number("Mmw"))
    if set(first.letters) & set("IY"):
        return stretch(calendar(first, at), calendar(last, at), 0)
    whole = lent(first, "Y", last.number("Y"))
    return stretch(calendar(whole, at), calendar(last, at), int(whole != first))


def lent(found: Expression, letter: str, number: int | None) -> Expression:
    return found if number is None else Expression("", found.letters + letter, (*found.numbers, number))


def stretch(first: DateSpan | None, last: DateSpan | None, lent: int) -> DateSpan | None:
    """From the first to the last; over New Year if neither has a year, or only the last (`lent`)."""
    if first is None or last is None or first.yearly != last.yearly:
        return None
    start, end = first.start, last.end
    if end <= start and first.yearly:
        end = shifted(end, 12)
    elif end <= start:
        start = shifted(start, -12 * lent)
    return DateSpan(start, end, first.yearly) if start < end else None


def edge(found: Expression, at: date) -> DateSpan | None:
    """`the last week of May`, `the last day of 2023`."""
    whole = calendar(Expression("", found.letters[1:], found.numbers[1:]), at)
    unit = found.numbers[0]
    if whole is None or (whole.yearly and unit == WEEKEND):
        return None
    if unit == MONTH:
        return DateSpan(shifted(whole.end, -1), whole.end, whole.yearly)
    if unit == WEEKEND:
        return around(whole.end - (whole.end.weekday() + 1) * ONE, WEEKEND)
    return DateSpan(whole.end - (1 if unit == DAY else 7) * ONE, whole.end, whole.yearly)


def hence(found: Expression, at: date) -> DateSpan | None:
    """`in two weeks`; `in a week` is more often a duration."""
    count = found.numbers[1]
    return ahead(found, at, count) if found.numbers[0] and count > 1 else None


def counted(found: Expression, at: date) -> DateSpan:
    return ahead(found, at, -(found.number("NDC") or 1))


def ahead(found: Expression, at: date, count: int) -> DateSpan:
    """Some units later, as wide as one unit."""
    unit = found.number("U") or DAY
    then = later(at, count, unit)
    if unit == WEEK:
        return DateSpan(then - 3 * ONE, then + 4 * ONE)
    return around(then, unit)


def lately(found: Expression, at: date) -> DateSpan:
    """`the last two weeks`."""
    return DateSpan(later(at, -(found.number("NDC") or 1), found.number("U") or DAY), at + ONE)


def beside(found: Expression, at: date) -> DateSpan | None:
    """`the week before 3 June`: up to that day."""
    cut = 1 + next(n for n, letter in enumerate(found.letters) if letter in "bav")
    day = calendar(Expression("", found.letters[cut:], found.numbers[cut:]), at)
    if day is None:
        return None
    span = nearest(day, at)
    count = found.numbers[0] if found.letters[0] in "NDC" else 1
    unit = WEEK if found.letters[0] == "W" else found.number("U") or DAY
    if found.letters[cut - 1] != "a":
        return DateSpan(later(span.start, -count, unit), span.end)
    return DateSpan(span.start, later(span.end, count, unit))


def turned(found: Expression, at: date) -> DateSpan:
    """`last spring`, `next Tuesday`, `this year`: the nearest past or future one, or the present."""
    step = next(step for kinds, step in (("Ll", -1), ("T", 0), ("Xx", 1)) if set(kinds) & set(found.letters))
    unit, weekday = found.number("U"), found.number("W")
    if unit is not None:
        past = found.number("L") == 1 and unit not in (DAY, WEEKEND)
        then = later(at if unit == DAY else around(at, unit).start, step, unit)
        return lately(found, at) if past else around(then, unit)
    return the_weekday(weekday, at, step) if weekday is not None else part(found, at, step)


def part(found: Expression, at: date, step: int) -> DateSpan:
    """`last spring`, `this May`."""
    number = found.number("S")
    span = season(number) if number is not None else months(found.number("Mmw") or 1, 1)
    if step:
        return chosen(span, at, step)
    return nearest(span, at) if number == WINTER else span.of(at.year)


def the_weekday(weekday: int, at: date, step: int) -> DateSpan:
    """The last one before a day (step -1), that of its week (0) or the next (1)."""
    days = weekday - at.weekday()
    if step > 0:
        days = days % 7 or 7
    if step < 0:
        days = days % 7 - 7
    return around(at + timedelta(days=days), DAY)


def chosen(span: DateSpan, at: date, step: int) -> DateSpan:
    every = [span.of(at.year + by) for by in (-2, -1, 0, 1)]
    if step < 0:
        return max((each for each in every if each.end <= at), key=lambda each: each.end)
    return min((each for each in every if each.start > at), key=lambda each: each.start)


RESOLVE: dict[str, Callable[[Expression, date], DateSpan | None]] = {
    "between": between,
    "beside": beside,
    "date": calendar,
    "range": lately,
    "edge": edge,
    "turn": turned,
    "ago": counted,
    "hence": hence,
    "word": lambda found, at: around(at + timedelta(days=found.numbers[0]), DAY),
    "bare": calendar,
    "weekday": weekday,
}


def days(passage: Passage) -> Iterator[DateSpan]:
    """The day a memory was said and those it mentions, each once; none for a memory without a day. If
    expressions change their meaning, a migration must set `ibid.memory.days` to null."""
    at = passage.said_on
    if at is None:
        return
    yield around(at, DAY)
    if passage.days is None:
        yield from spoken(expressions(passage.text), at)
    else:
        yield from map(DateSpan, passage.days[::2], passage.days[1::2])


def spoken(found: Iterable[Expression], at: date) -> tuple[DateSpan, ...]:
    every = (resolved(each, at) for each in found)
    return tuple(dict.fromkeys(nearest(span, at) for span in every if span))


OWN = words(
    "i we ich wir yo hice hicimos fui fuimos estuve estuvimos hago hacemos je j nous"
    " happen happens happened happening los passiert geschehen paso pasa pasado ocurrio sucedio passe arrive"
)
"""Pronouns and verbs of which every such question has one. Without accents."""
NAMELESS = words(
    "what where all did do done doing have has had was were am been be go going gone went me my our us ve so"
    " war waren wo habe haben hab hatte hatten bin bist gemacht getan gewesen gegangen mir uns alles"
    " que donde he hemos hecho ido estado era mi mis nuestro todo"
    " qu quoi ou ai avons ete etais etait etions fait fais faite suis alle allee est ce s m mon ma mes"
)
"""Words that do not name anything that was done."""
TIMELY = frozenset("MmwSWURLlTXxAVvPOQ&sbaDYNIBE") | {""}
"""Kinds of words of time; a counted noun (`k`) is none."""
QUESTION_WORDS = 24
"""Most words of such a question."""


def timely(text: str) -> bool:
    """True for a question of only words of time and words without content, at least one in OWN."""
    if len(text) > READ_CHARACTERS:
        return False
    found = WORD.findall(plain(bare(text)))
    return len(found) <= QUESTION_WORDS and not OWN.isdisjoint(found) and all(map(nameless, found))


def nameless(word: str) -> bool:
    """True for a word of time, one without content, or a date in figures."""
    if word in KNOWN:
        return KNOWN[word][0] in TIMELY
    return word in OWN or word in NAMELESS or word.count("-") == 2 or word.count(".") == 2
