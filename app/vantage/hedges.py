"""Phrases that hedge a statement, by language: what a hedge budget counts.

English in full, of German, Spanish and French the common ones. A phrase is counted wherever it stands, the
longest of those that overlap once. Source: Hyland, *Hedging in Scientific Research Articles* (1998), the
common part. Nothing here raises.
"""

import re
from collections.abc import Sequence

from app.domain.phrases import Phrases

HEDGES = {
    "en": (
        "perhaps|maybe|possibly|probably|presumably|supposedly|apparently|seemingly|arguably|conceivably"
        "|might|might be|may be|may have|may well|may seem|may depend|may vary|it may|this may"
        "|that may|there may|they may|might not|could be|could have been|would seem|seems to|seem to"
        "|it seems|appears to|appear to|it appears|i think|i believe|i guess|i suppose|i assume|i suspect"
        "|i feel|in my opinion|in my view|i'm not sure|i am not sure|i'm not certain|i am not certain"
        "|i'm not an expert|i can't be sure|i could be wrong|i may be wrong|i might be wrong|not necessarily"
        "|it depends|that depends|to some extent|to some degree|in some ways|more or less|sort of"
        "|kind of|somewhat|as far as i know"
        "|as far as i can tell|to my knowledge|to the best of my knowledge"
        "|tends to|tend to|likely|unlikely|it is possible|it's possible"
        "|roughly speaking|so to speak|for the most part|if i understand correctly"
    ),
    "de": (
        "vielleicht|möglicherweise|eventuell|wahrscheinlich|vermutlich|anscheinend|scheinbar|womöglich"
        "|unter umständen|ich glaube|ich denke|ich vermute|ich nehme an|meiner meinung nach|meines erachtens"
        "|meines wissens|soweit ich weiß|es scheint|es kommt darauf an|könnte sein|dürfte"
        "|gewissermaßen|mehr oder weniger|ich bin nicht sicher|tendenziell"
    ),
    "es": (
        "quizá|quizás|tal vez|a lo mejor|posiblemente|probablemente|supuestamente|aparentemente|al parecer"
        "|creo que|pienso que|supongo que|en mi opinión|parece que|puede que|podría ser|depende"
        "|más o menos|que yo sepa|hasta donde sé|no estoy seguro|no estoy segura"
        "|en cierto modo"
    ),
    "fr": (
        "peut être|peut-être|possiblement|probablement|sans doute|apparemment|vraisemblablement|il semble"
        "|il se peut|je pense que|je crois que|je suppose que|à mon avis|selon moi|ça dépend|cela dépend"
        "|plus ou moins|que je sache|à ma connaissance|je ne suis pas sûr|je ne suis pas sûre"
        "|en quelque sorte|pourrait être"
    ),
    "": (
        "may i|may we|you may|you may be|you may have|you may not|we may be|kind of you|might of"
        "|all kind of|what kind of|this kind of|that kind of"
        "|any kind of|some kind of|most likely to|more likely to"
    ),
}
"""By language; "": what reads like one and hedges nothing. How often (`usually`) and what one may do is told,
not hedged."""
NAMED = re.compile(r"\bM(?:ay|AY)\b")
"""A month, a name, a rule's MAY, or the courtesy of a question."""
_PHRASES = Phrases(HEDGES)


def hedges(said: Sequence[str]) -> int:
    """How many stand in the words of a text (`phrases.words`)."""
    return sum(any(found.names) for found in _PHRASES.among(said))
