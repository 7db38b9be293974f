"""Messages that are clear although they name little: greetings, thanks, questions to the assistant or the
clock, to one's own memory, arithmetic.

Lower-case words without marks, as `domain/followup.py` cuts them. Nothing here raises.
"""

import re
from collections.abc import Sequence

from app.domain.followup import tokenised
from app.domain.greeting import is_pure_reentry_greeting
from app.domain.sentiment import Sentiment, marked_sentiment
from app.domain.tongue import COURTESY, ENGLISH, QUESTIONS, SOCIAL, words
from app.vantage.asker import asked
from app.vantage.hollow import COMPANY, VERBS

PHRASES = (
    "who are you|what are you|what can you do|what can you do for me|what can you help me with"
    "|what do you do|how can you help|how can you help me|how do you work|how are you|how are you doing"
    "|how are you today|how is it going|what is up|how old are you|where are you|where are you from"
    "|are you there|are you ok|are you human|are you real|are you a bot|are you an ai|can you hear me"
    "|who made you|who created you|what is your name|what do you know about me|what do you know"
    "|what do you remember|who am i|what is my name|what time is it|what is the time|what day is it"
    "|what day is it today|what is the date|what is today's date|what year is it|what is new"
    "|what is next|how was your day|nice to meet you|see you|see you later|see you soon"
    "|talk to you later|have a nice day|good luck|well done|you too|same here|never mind|nevermind"
    "|no problem|no worries|that is all|i am back|i'm back|i'm done|i'm fine|i am fine|i'm good"
    "|i'm here|it works|it worked|it works now|that works|that worked|lol|haha|hahaha|wow|oh|ah|aha|hm"
    "|hmm|amen|congrats|congratulations|stop|wait|wait a minute|wait a second|go away|got it|i see"
    "|i understand|makes sense|that makes sense|i agree|i know|no comment|sounds good|i love it"
    "|i like it|i did it|we did it|test|testing|ping|who is there|how do i look|what is love"
    "|to be or not to be|what is wrong with me|what are you good at|what are you doing|what is time"
    "|is anyone there|anyone there|anybody there|good question|good idea|great idea|nice one|good one"
    "|good point|fair enough|not bad|no idea|my bad|wer bist du|was bist du|was kannst du|was machst du"
    "|qui es-tu|que peux-tu faire|quién eres|qué puedes hacer|have a good one|keep it up|go for it"
    "|you got this|you can do it|wie geht|wie geht es|wie geht es dir|wie geht es ihnen|ça va"
    "|comment ça va|qué tal|cómo estás|come stai|come va|как дела|hvordan går det|hoe gaat het"
    "|jak się masz|tudo bem"
)
"""Whole as they are, to whoever is asked."""
WHOLE = frozenset(tuple(map(str.lower, tokenised(phrase))) for phrase in PHRASES.split("|"))
PARTING = words("thanks thank thx ty cheers bye goodbye danke merci gracias congrats congratulations sorry")
REQUESTS = words("can could please but do would will fix make what how why")
"""After thanks these ask for more."""
ANSWERS = words("yes yep yeah no nope sure ja nein oui non please sí si")
"""Company only behind a question."""
OWN = (("did", "i"), ("have", "i"), ("did", "we"), ("have", "we"), ("had", "i"))
KEPT = words(
    "say said tell told mention mentioned write written wrote note noted decide decided plan planned"
    " promise promised ask asked agree agreed talk talked discuss discussed eat dream dreamed"
)
"""`What did I say last time?` is asked of what was kept."""
SIGN = re.compile(r"[0-9] ?[-+*/×÷^=<>]|[-+*/×÷^=<>] ?[0-9]")


def settled(message: str, lower: Sequence[str]) -> bool:
    """Whether a short message is clear whatever its words."""
    return (
        tuple(lower) in WHOLE
        or _social(lower)
        or _kept(lower)
        or asked(lower)
        or _sum(message, lower)
        or is_pure_reentry_greeting(message)
        or _praise(message, lower)
    )


def _social(lower: Sequence[str]) -> bool:
    """Thanks, a greeting, `great`; a bare yes or no only answers something."""
    if lower[0] in PARTING and REQUESTS.isdisjoint(lower):
        return True
    company = all(word in SOCIAL or word in COURTESY for word in lower)
    return company and any(word in SOCIAL and word not in ANSWERS for word in lower)


def _kept(lower: Sequence[str]) -> bool:
    """Asked of one's own memory."""
    return any(
        tuple(lower[n : n + 2]) in OWN and not KEPT.isdisjoint(lower[n + 2 :]) for n in range(len(lower) - 2)
    )


def _sum(message: str, lower: Sequence[str]) -> bool:
    """Two numbers, or one with a sign of arithmetic."""
    numbers = sum(word[0].isdecimal() for word in lower)
    return numbers > 1 or (numbers == 1 and len(lower) > 1 and SIGN.search(message) is not None)


def _praise(message: str, lower: Sequence[str]) -> bool:
    """Contentment, not a question or a command."""
    if "?" in message or "but" in lower or ANSWERS.issuperset(lower):
        return False
    first = next((word for word in lower if word not in COMPANY and word not in SOCIAL), "")
    asks = first in QUESTIONS or first in ENGLISH.verbs or first in VERBS
    return not asks and marked_sentiment(message) is Sentiment.POSITIVE
