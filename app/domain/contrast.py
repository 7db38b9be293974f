"""How clearly a leg tells the best from the rest, and what words then weigh beside meaning. Pure, no state.

A leg that knows its answer falls off behind it; one that cannot tell falls slowly: similarities in a language
that the embedder never learned, words that everybody uses. Falls follow the logarithm of the place, so one is
told by the place as deep as a leg goes, up to DEPTH: it hardly depends on how many passages were asked for.
Figures and what was weighed: docs/decisions/0049, 0057.
"""

import math
from collections.abc import Sequence

DEPTH = 10
"""Places of a leg that are looked at: as many as anybody reads."""
WORDS = 0.2
"""Fall of the word leg, a share of its best score a natural logarithm of the place, in between: measured
medians go from .13 (short questions to code) to .32 (questions that quote a text)."""
MEANING = 0.055
"""Of the meaning leg in similarity: medians from .03 (a language unknown to the embedder) to .15."""
LEAST, MOST = 0.4, 2.5
"""Evidence of ten passages turns no leg off."""
SHARP, SOFT = 1.25, 0.75
"""How strongly the fall of the words counts, and that of meaning."""


def weight(words: Sequence[float], meaning: Sequence[float]) -> float:
    """What words weigh, 1 where nothing is known: the more, the more clearly they tell, and the less clearly
    meaning does. Scores and similarities of the legs, each best first."""
    # A shorter leg than the other has named every passage with a word: the next one holds none.
    scores = [*words, 0.0] if len(words) < len(meaning) else words
    if len(scores) < 2 or len(meaning) < 2 or scores[0] <= 0:
        return 1.0
    by_words = fall(scores) / scores[0] / WORDS
    by_meaning = fall([max(0.0, each) for each in meaning]) / MEANING
    most = (MOST if by_words > 0 else 1.0) if by_meaning <= 0 else by_words**SHARP / by_meaning**SOFT
    return min(MOST, max(LEAST, most))


def fall(scores: Sequence[float]) -> float:
    """From the first place to the last one looked at, a natural logarithm; 0 where there is no second."""
    last = min(DEPTH, len(scores))
    return (scores[0] - scores[last - 1]) / math.log(last) if last > 1 else 0.0
