"""Questions of the asker about himself: `do you remember me?`, `who am I?`, `am I getting better?`

A service that remembers can answer them out of what it keeps, though none of their words names a thing.
Lower-case words without marks, as `domain/followup.py` cuts them. Nothing here raises.
"""

from collections.abc import Sequence
from itertools import pairwise

from app.domain.followup import tokenised
from app.domain.tongue import PRONOUNS, QUESTIONS, words

PHRASES = (
    "who am i|who am i to you|what am i like|how am i|have i changed|have i improved|do i exist"
    "|what do i like|what do i want|what do i love|what do i hate|what do i prefer|what do i think"
    "|what do i believe|what do i enjoy|what should i remember|what must i remember"
    "|what do i have to remember|what do i mean to you|what have i forgotten|how old am i|where did i go"
    "|where did we go|where have i been|where was i|why do i do this to myself|how long have i been here"
    "|how long have we known each other|how do you see me|have we met|have we met before"
    "|wer bin ich|wie geht es mir|was will ich|was möchte ich|wie bin ich|kennst du mich|kennen sie mich"
    "|bin ich besser|qui suis-je|je suis qui|qu'est-ce que je veux|comment je vais|tu me connais"
    "|vous me connaissez|quién soy|quién soy yo|qué quiero|qué quiero yo|cómo soy|me conoces|me recuerdas"
)
"""Whole as they are."""
WHOLE = frozenset(tuple(map(str.lower, tokenised(phrase))) for phrase in PHRASES.split("|"))
BEFORE = words("and so but hey hi please")
SOFT = words(
    "please still even really actually now today these days lately recently so far again much at all"
)
"""What may be added to any of them."""
KNOWING = words("remember know recall recognise recognize")
ABOUT = (
    "me|us|who i am|what i am|what i am like|what i like|what i want|anything about me|something about me"
    "|about me|what about me|everything about me|things about me|my name"
)
KNOWN = frozenset(tuple(phrase.split()) for phrase in ABOUT.split("|"))
"""What is known of the asker: `do you remember …`."""
STATED = frozenset((("am", "i"), ("i", "am"), ("have", "i")))
HAVING = words("am i how have been")
BECOMING = words("getting doing feeling becoming improving growing being")
STATES = words(
    "better worse well good bad okay ok fine right wrong old older slower faster stronger weaker enough"
    " happier sadder improving alright great different easier harder"
)
"""`Am I getting better?`; `am I doing it right?` is of something else, `am I right?` of what was said."""
BEING = words(
    "who what where why like this here old good bad normal okay ok alright different weird strange at do you"
    " think know nice fun great important"
)
"""`Who do you think I am?`, `why am I like this?`"""
MINE = frozenset((("of", "me"), ("about", "me"), ("about", "myself"), ("my", "name")))
"""How a question about the asker ends: `what do you think of me?`"""
ASKS = QUESTIONS | words("tell do can describe")


def asked(lower: Sequence[str]) -> bool:
    """Whether a message asks who the asker is, how he is, what is known of him."""
    end = len(lower)
    while end > 2 and lower[end - 1] in SOFT:
        end -= 1
    plain = tuple(lower[lower[0] in BEFORE : end])
    return plain in WHOLE or _remembered(plain) or _state(plain) or _mine(plain)


def _remembered(plain: Sequence[str]) -> bool:
    """`Do you still know who I am?`"""
    at = next((n for n, word in enumerate(plain) if word in KNOWING), len(plain))
    return "you" in plain[:at] and tuple(plain[at + 1 :]) in KNOWN


def _state(plain: Sequence[str]) -> bool:
    """`Am I getting better?`, `what am I good at?`; `what am I doing wrong?` is about the doing."""
    if STATED.isdisjoint(pairwise(plain)):
        return False
    left = [word for word in plain if word not in SOFT and word not in HAVING]
    if left and left[0] in BECOMING:
        return STATES.issuperset(left[1:]) and left != ["doing", "wrong"]
    return bool(left) and BEING.issuperset(left)


def _mine(plain: Sequence[str]) -> bool:
    """`Tell me about myself`, `what are my plans?`"""
    if len(plain) < 4 or plain[0] not in ASKS:
        return False
    owned = (
        len(plain) == 4 and plain[:1] == ("what",) and plain[1] in ("is", "are", "were") and plain[2] == "my"
    )
    if ("me", "that", "i") in zip(plain, plain[1:], plain[2:], strict=False):
        plain = plain[: plain.index("that")]
    return owned or (tuple(plain[-2:]) in MINE and PRONOUNS.isdisjoint(plain))
