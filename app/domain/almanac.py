"""Words of time as kinds and numbers, in English, German, Spanish and French: what `domain/when.py` reads.

A language is one entry a table. Words are in lower case and without accents (`plain`). A kind is one letter,
so that a sentence is a string and its time expressions are patterns over it; words that say nothing of time
are `.`, and articles between words of time nothing at all. Nothing here raises.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping

WORD = re.compile(r"\d{4}-\d\d-\d\d(?!\d)|\d\d?\.\d\d?\.\d{4}(?!\d)|\d+|[^\W\d_]+")
MONTHS = (
    "january jan januar janner enero janvier|february feb februar febrero fevrier|march mar marz marzo mars"
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
    "|week weeks woche wochen semana semanas semaine semaines|weekend weekends wochenende finde"
    "|month months monat monate monaten mes meses mois"
    "|year years jahr jahre jahren jahres ano anos ans annee annees"
)
DAY, WEEK, WEEKEND, MONTH, YEAR = range(5)
"""Units, as numbers of their place in UNITS."""
NUMBERS = (
    "a an one ein eine einem einer un una une couple|two zwei dos deux|three few drei tres trois"
    "|four vier cuatro quatre|five funf cinco cinq|six sechs seis|seven sieben siete sept"
    "|eight acht ocho huit|nine neun nueve neuf|ten zehn diez dix|eleven elf onze|twelve zwolf doce douze"
)
RELATIVE = {
    -2: "vorgestern anteayer antier",
    -1: "yesterday gestern ayer",
    0: "today tonight heute hoy",
    1: "tomorrow demain",
    2: "ubermorgen",
}
KINDS = {
    "L": "last past previous letzte letzten letzter letztes letztem vorige vorigen voriges"
    " vergangene vergangenen vergangenes pasado pasada pasados pasadas ultimo ultima ultimos ultimas"
    " dernier derniere derniers dernieres passe passee",
    "T": "this current diese diesen dieser dieses diesem este esta ce cet cette",
    "X": "next coming nachste nachsten nachster nachstes nachstem kommende kommenden kommendes"
    " proximo proxima prochain prochaine",
    "A": "ago earlier",
    "V": "vor hace",
    "P": "in on during for around im am wahrend en durante durant pendant au al",
    "s": "since seit desde depuis",
    "b": "until till by bis hasta jusqu",
    "a": "after nach despues apres",
    "": "the of de du del le la les el los las der den dem des d l early late mid beginning middle end start"
    " st nd rd th er",
}
"""`""`: what may stand between words of time."""
YEARS = range(1900, 2100)
"""Numbers that may be a year."""
Read = tuple[str, int]
"""A kind, and its number (0 where it has none)."""
EXCLUSIVE: dict[str, Read] = dict.fromkeys(("before", "avant", "antes"), ("b", 1))
"""`until May` has May in it, `before May` has not."""


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
    dates = {str(day): ("D", day) for day in range(1, 32)} | {f"{day:02}": ("D", day) for day in range(1, 10)}
    years = {str(year): ("Y", year) for year in YEARS}
    return kinds | days | counted | dates | years | {"may": ("m", 5), "march": ("m", 3)} | EXCLUSIVE


KNOWN = known()
HINTS = frozenset(
    {word for word, (kind, _) in KNOWN.items() if kind in tuple("MmSWUR")}
    | {str(year) for year in YEARS}
    | {"hier", "aujourd", "an", "week", "fin"}
)
"""One of them is in every expression; the last are of phrases."""
MARKS = str.maketrans(dict.fromkeys("-.,;:!?'\"()/\u201c\u201d", " "))


PHRASES = {
    "il y a": "hace",
    "the day before yesterday": "vorgestern",
    "avant-hier": "vorgestern",
    "aujourd'hui": "heute",
    "un an": "une annee",
    "l'an": "annee",
    "week-end": "weekend",
    "fin de semana": "weekend",
    "que viene": "proximo",
}
"""Several words that are one."""
HIER = re.compile(r"\bhier\b")
PHRASE = re.compile(rf"\b(?:{'|'.join(PHRASES)})\b")
FRENCH = re.compile(r"\b(?:je|j|tu|il|elle|nous|vous|ils|le|la|les|est|ai|que|qu)\b")
"""Beside one of these `hier` is yesterday, and not the German for here."""
NAMES = re.compile(r"\b(?:May|March)\b")
"""Months that are verbs, too, where they are not written as names (the kind `m`)."""


def bare(text: str) -> str:
    """Without accents."""
    if text.isascii():
        return text
    text = unicodedata.normalize("NFKD", text.replace("\u2019", "'"))
    return "".join(sign for sign in text if not unicodedata.combining(sign))


def timeless(text: str) -> bool:
    """Whether no word of it can make an expression of time: most texts have none, and this is soon seen."""
    return HINTS.isdisjoint(text.lower().translate(MARKS).split())


def plain(text: str) -> str:
    """A `bare` text in lower case, phrases and names as one word each."""
    if "Ma" in text:
        text = NAMES.sub(lambda found: "mai" if found[0] == "May" else "marz", text)
    low = text.lower()
    if any(phrase in low for phrase in PHRASES):
        low = PHRASE.sub(lambda found: PHRASES[found[0]], low)
    return HIER.sub("gestern", low) if "hier" in low and FRENCH.search(low) else low
