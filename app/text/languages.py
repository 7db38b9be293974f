"""Words that have no subject of their own, by language: what `answering/followup.py` tells follow-ups by.

A language is one entry of data. English knows its pronouns too; of the others only openings ("und der
zweite?") and messages of nothing but such words ("warum?") are read, for their pronouns are mostly articles
or formulas (sie, es, le, lo). Lower case throughout. Wrong here means a search for the wrong thing: a word is
listed only if it names nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass


def words(text: str) -> frozenset[str]:
    """A set, written as a line."""
    return frozenset(text.split())


@dataclass(frozen=True, slots=True)
class Tongue:
    openings: frozenset[str]
    """Words that begin an elliptic message."""
    verbs: frozenset[str]
    """Auxiliaries: a message that has one is more than a fragment."""
    bare: frozenset[str]
    """Everything else that names nothing: articles, prepositions, question words, pronouns, small numbers."""
    ordinals: Mapping[str, int]
    """Which of a list: from 0; -1 the last."""

    def is_function_word(self, word: str) -> bool:
        return word in self.bare or word in self.verbs or word in self.openings

    def names_nothing(self, word: str) -> bool:
        """True if a word has no content."""
        return any(word in group for group in (self.openings, self.verbs, self.bare, self.ordinals))


SOCIAL = words(
    "hi hello hey thanks thank thx ok okay yes no yep nope sure great good morning evening afternoon"
    " night bye goodbye welcome cheers fine cool nice perfect sorry hallo danke ja nein bonjour salut"
    " merci oui non hola gracias adiós tschüss"
)
"""Said for company's sake; with COURTESY they ask for nothing."""
COURTESY = words("you very much so a lot please for all that's there again bitte vielen beaucoup muchas")

DETERMINERS = words("a an the any some no every each my your our all")
PREPOSITIONS = words(
    "in on at for of with without by to from after before during under over into since until per"
    " through between within against near"
)
QUESTIONS = words("what which who whom whose when where why how")
PRONOUNS = words(
    "it its they them their theirs he him his she her hers this that these those itself themselves"
)
TALK = words(
    "tell explain elaborate continue go give show say says mean means repeat expand clarify know think"
    " example examples detail details words word simpler simple shorter longer"
    " differently summarize summarise shorten"
)
"""Verbs about the conversation itself."""
HAPPENING = words("happen happens happened")
"""They name nothing either, but are verbs: `what happened in Berlin?` is a whole question."""
ASKING = words(
    "do does did can could will would shall should may might must don't doesn't didn't can't won't"
)
"""Auxiliaries that are followed by the subject of the question."""
PAPERS = words("document documents file files pdf pdfs paper papers text texts report reports")
"""What lies on the table: `this report` points at it, not at what was said."""
TIMES = words(
    "year month week morning afternoon evening night day today time season century summer winter spring"
)
MONTHS = words("january february march april may june july august september october november december")

ENGLISH = Tongue(
    openings=words("and or but also plus so then"),
    verbs=ASKING | words("is are was were be been am has have had isn't aren't"),
    bare=DETERMINERS
    | PREPOSITIONS
    | QUESTIONS
    | PRONOUNS
    | TALK
    | HAPPENING
    | words(
        "about as than like if not there here i you we me us one ones same other others another else"
        " just really exactly only too very much many more most long often far soon well now again"
        " please both former latter such up out off while because even still little bit some something"
        " anything next otherwise afterwards"
    ),
    ordinals={
        word: index
        for index, group in enumerate(
            (
                "first 1st",
                "second 2nd",
                "third 3rd",
                "fourth 4th",
                "fifth 5th",
                "sixth 6th",
                "seventh 7th",
                "eighth 8th",
            )
        )
        for word in group.split()
    }
    | {"last": -1, "latter": -1, "former": -2},
)
GERMAN = Tongue(
    openings=words("und oder aber auch sowie dann"),
    verbs=words("ist sind war waren hat haben kann können wird werden muss müssen darf soll gibt"),
    bare=words(
        "der die das den dem des ein eine einen einem einer es er sie ihn ihm ihr ihre sein seine davon"
        " dafür dazu damit dort dies diese dieser warum wieso weshalb wann wo wer wie was welche welcher"
        " welches viel viele mehr in im an am auf für mit ohne bei von vom zu zum zur nach vor seit bis"
        " über unter nicht noch genau sonst so lange oft"
    ),
    ordinals={"erste": 0, "ersten": 0, "zweite": 1, "zweiten": 1, "dritte": 2, "dritten": 2, "letzte": -1},
)
FRENCH = Tongue(
    openings=words("et ou mais aussi puis"),
    verbs=words("est sont était a ont peut peuvent doit doivent faut"),
    bare=words(
        "le la les l un une des du de d il elle ils elles lui leur son sa ses ce cela ça cette ces"
        " celui celle pourquoi quand où qui que quoi quel quelle quels quelles comment combien plus en"
        " dans à au aux pour avec sans sur sous par chez après avant depuis pas encore"
    ),
    ordinals={"premier": 0, "première": 0, "deuxième": 1, "second": 1, "troisième": 2, "dernier": -1},
)
SPANISH = Tongue(
    openings=words("y o pero también entonces"),
    verbs=words("es son era está están ha han puede pueden debe deben hay"),
    bare=words(
        "el la los las un una unos unas lo le les su sus él ella ellos esto eso ese esa este esta por"
        " qué porqué cuándo dónde quién cuál cuáles cómo cuánto cuánta cuántos cuántas más en de del a"
        " al para con sin sobre desde hasta no dos tres"
    ),
    ordinals={"primero": 0, "primera": 0, "segundo": 1, "segunda": 1, "tercero": 2, "último": -1},
)
FOREIGN = (GERMAN, FRENCH, SPANISH)
"""Languages of which openings and bare messages are read."""
TONGUES = (ENGLISH, *FOREIGN)

WORD = re.compile(r"[^\W\d_]+")
BEGINNING = 400
"""Characters that show the language of a text."""


def is_english(text: str) -> bool | None:
    """True if most of its function words are English ones, False if they are another language's; None if that
    is not to be seen. Cognate languages (Italian, Dutch) are told by the words they share with these."""
    found = [word for word in WORD.findall(text[:BEGINNING].lower()) if len(word) > 1]
    english = sum(map(ENGLISH.is_function_word, found))
    others = max(sum(map(tongue.is_function_word, found)) for tongue in FOREIGN)
    return None if english == others else english > others
