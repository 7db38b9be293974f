"""Questions of an answer that are asked of the asker, and those that are what was asked for: FAQ, a list.

A question is part of a text where it is a heading, begins with `Q:`, is in bold, or stands in a list of three
or more that no sentence asks the asker to answer. Counts are questions. Linear. Nothing here raises.
"""

import re
from collections.abc import Sequence

from app.domain.phrases import Phrases
from app.vantage.sentence import Sentence, said

LIST = 3
"""Questions of a list."""
HEADED = re.compile(r"(?:\*\*|__)?(?:Q|F|P|R)\d{0,3}[.:)]|\*\*|__")
"""What opens a question of a FAQ."""
ASKED = (
    "tell me|let me know|i need to know|i'd need to know|could you|can you tell|please answer"
    "|clarify|clarification"
    "|a few questions|some questions for you|to help you|sag mir|sagen sie mir|könntest du|könnten sie"
    "|dime|dígame|podrías|podría|dis moi|dis-moi|dites-moi|dites moi|pourriez vous|pourriez-vous"
)
"""What asks the asker to answer a list."""
_ASKED = Phrases({"asked": ASKED})


def counted(told: Sequence[Sentence]) -> int:
    """How many questions are asked of the asker."""
    loose = [one for one in told if one.asks and not _part(one)]
    listed = [one for one in loose if one.bullet]
    if len(listed) >= LIST and not _answerable(told):
        return len(loose) - len(listed)
    return len(loose)


def _part(one: Sentence) -> bool:
    """Whether it heads what follows."""
    return one.bullet.startswith("#") or HEADED.match(one.text) is not None


def _answerable(told: Sequence[Sentence]) -> bool:
    """Whether a sentence outside the list asks for answers."""
    return any(not one.bullet and any(True for _ in _ASKED.among(said(one.text))) for one in told)
