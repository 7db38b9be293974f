"""Whether a question asks for nothing but a time: `What did I do last Tuesday?`, `Was war im Mai?`

Then its words of time are all that it names, and a memory of that time holds what they mean: words vouch
for it (CONTRACT §0, Match). English, German, Spanish and French. Nothing here raises.
"""

from app.domain.almanac import KNOWN, WORD, bare, plain
from app.domain.tongue import TONGUES, words
from app.domain.when import MOST

LIVED = words(
    "done doing go goes going went gone im ive"
    " ich du wir mich dir mir uns mein meine meinem bin bist habe hast habt gemacht getan passiert geschehen"
    " gewesen los geht ging tat"
    " yo tu me mi mis hago hice hiciste hicimos hecho hacer paso pasa pasado ocurrio sucedio fui he hemos"
    " je j moi nous on mon ma mes ai as avons fait faite faire passe arrive s etais ete suis allee alle c qu"
)
"""Who asks, and verbs that name nothing that was done; without accents."""
NAMELESS = LIVED | {
    bare(word)
    for tongue in TONGUES
    for group in (tongue.openings, tongue.verbs, tongue.bare)
    for word in group
}
LONGEST = 24
"""Words of such a question."""


def timely(text: str) -> bool:
    """Whether there is no word but of time, and such as name nothing; of the former there may be none."""
    if len(text) > MOST:
        return False
    found = WORD.findall(plain(bare(text)))
    return len(found) <= LONGEST and all(word in KNOWN or word in NAMELESS or dated(word) for word in found)


def dated(word: str) -> bool:
    """Whether it is a date in figures: `2023-05-07`, `7.5.2023`."""
    return word.count("-") == 2 or word.count(".") == 2
