"""Words of time as kinds and numbers, in English, German, Spanish and French: what `domain/when.py` reads.

A language is one entry a table. Words are in lower case and without accents (`plain`). A kind is one letter,
so that a sentence is a string and its time expressions are patterns over it; words that say nothing of time
are `.`, and articles between words of time nothing at all. Nothing here raises.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping

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


def known() -> Mapping[str, Read]:
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


KNOWN = known()
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
    """Without accents."""
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
    """Whether no word of it can make an expression of time: most texts have none, and this is soon seen."""
    return HINTS.isdisjoint(text.lower().translate(MARKS).split())


def hinted(word: str) -> bool:
    """Whether a word, in lower case and maybe with marks, is not `timeless`: at a third of its price."""
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
