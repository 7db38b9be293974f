"""Whether a person asks for nothing but a time of theirs: `What did I do last week?`, `Was war los im Mai?`

Then the words of time are all that the question names, and a memory of that time holds what they mean: words
vouch for it (CONTRACT §0, Match). English, German, Spanish and French; whoever asks for more, of others, or
how much, is not meant. Nothing here raises.
"""

from app.domain.almanac import KNOWN, WORD, bare, plain
from app.domain.tongue import words
from app.domain.when import MOST

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
"""Kinds of words of time (`almanac.py`); what a number counts (`k`) is none."""
LONGEST = 24
"""Words of such a question."""


def timely(text: str) -> bool:
    """Whether there is no word but of time and such as name nothing, one of OWN among them; that it names a
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
