"""Who says a text (`Anna: …`), and whether a question names him. Pure; nothing here raises.

Transcripts begin a turn with a name, but notes begin with headings, and `Will` and `May` are verbs as well. A
question that has capitals at all must write the name with one; a name that is a word, too, within a sentence,
where nothing else has one. Why: docs/decisions/0051.
"""

import re
from collections.abc import Iterator
from itertools import islice

from app.domain.text import once, remembered
from app.domain.tongue import TONGUES, words

NAME = re.compile(r"\s*([^\W\d_](?:[^\W_]|[.' -])*?) *$")
"""What stands before the colon."""
LONGEST = 40
"""Characters of a name."""
HEADINGS = words(
    "summary note notes title subject date time today yesterday tomorrow todo task tasks question answer idea"
    " ideas plan plans goal goals result results list example examples warning update reminder conclusion"
    " problem solution topic user assistant system human bot me name memory address source link"
    " zusammenfassung notiz notizen titel betreff datum zeit heute gestern morgen aufgabe aufgaben frage"
    " antwort idee ideen ziel ziele ergebnis ergebnisse liste beispiel warnung erinnerung fazit thema nutzer"
    " resumen nota notas asunto fecha hora hoy ayer tarea tareas pregunta respuesta meta resultado lista"
    " ejemplo aviso recordatorio problema tema usuario"
    " résumé titre objet heure hier tâche tâches réponse idée idées but résultat résultats liste exemple"
    " rappel problème sujet utilisateur"
)
"""What notes begin with: nobody. In English, German, Spanish and French."""
WORDS = words(
    "will may mark bill art rob sue pat drew grant chase jack hope joy grace faith rose dawn miles summer"
    " reich lang klein gut sol luz paz mar pierre"
)
"""Names that are words of a sentence, too."""
NOBODY = (
    HEADINGS
    | {
        word
        for each in TONGUES
        for part in (each.openings, each.verbs, each.bare, each.ordinals)
        for word in part
    }
) - WORDS
"""Headings, and words that name nothing."""
TRIES = 8
"""Places that are looked at."""
OPENS = re.compile(r"(?:^|[.!?:])[^\w]*$")
"""Before the first word of a sentence."""


def speaker(text: str) -> str:
    """Who said it, as it is written; "": it does not tell."""
    head, colon, rest = text[: LONGEST + 2].partition(":")
    if not colon or not rest[:1].isspace():
        return ""
    found = NAME.match(head)
    return found[1] if found and low(found[1]) not in NOBODY else ""


def named(name: str, question: str) -> bool:
    """Whether a question names this person: few say many memories."""
    return bool(name) and remembered(question, (named, name), lambda: sought(name, question))


def sought(name: str, question: str) -> bool:
    """The same, looked for."""
    folded, wanted = low(question), low(name)
    if not wanted or (question == folded and wanted in WORDS):
        return False
    return any(
        alone(folded, at, at + len(wanted)) and (question == folded or written(question, at, wanted))
        for at in islice(places(wanted, folded), TRIES)
    )


def places(wanted: str, text: str) -> Iterator[int]:
    """Where it stands, whatever is beside it."""
    at = text.find(wanted)
    while at >= 0:
        yield at
        at = text.find(wanted, at + 1)


def written(question: str, at: int, name: str) -> bool:
    """Whether it is written as names are at this place."""
    sign = question[at]
    if sign.islower():
        return False
    return name not in WORDS or not OPENS.search(question[max(0, at - TRIES) : at])


def alone(text: str, start: int, end: int) -> bool:
    """Whether it is no part of a longer word."""
    return not (text[start - 1 : start].isalnum() or text[end : end + 1].isalnum())


@once
def low(text: str) -> str:
    """In lower case, and as long as before."""
    return text.replace("\u0130", "I").lower()
