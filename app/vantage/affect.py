"""How moved the asker is, by how they write: words of feeling, shouting, pictures, emphasis.

In [0, 1): `n / (n + 2)` over weighted signs, so more of any never lowers it. Which feeling is not told.
Nothing here raises.
"""

import re

from app.domain.tongue import words
from app.vantage.kinds import Table
from app.vantage.words import CAPITALS, Text, beyond

FEELINGS = words(
    "love loved loving hate hated hating happy happiness sad sadness sadly angry anger furious mad upset"
    " afraid scared scary terrified fear worried worry worries worrying anxious anxiety nervous panic"
    " panicking stressed stress depressed depressing depression lonely alone heartbroken devastated grief"
    " grieving crying cry cried tears hopeless helpless desperate desperately exhausted overwhelmed"
    " frustrated frustrating annoyed annoying disappointed ashamed guilty embarrassed jealous proud"
    " excited exciting thrilled delighted joy overjoyed grateful thankful amazing awesome wonderful"
    " fantastic terrible horrible awful disgusting miserable ugh argh yay omg wtf damn sucks sick tired"
    " bored heartbreaking shocked shocking hurt hurting hurts died death dying miss suicidal worthless"
    " traurig glucklich wutend verzweifelt angst liebe hasse einsam weine triste content contente furieux"
    " peur aime deteste seul seule feliz enojado enojada miedo amo odio solo sola desesperado desesperada"
)
"""Accents folded, as `vantage/words.py` gives them."""
STRONG = words(
    "very really so extremely totally absolutely completely utterly incredibly insanely super seriously"
    " literally freaking fucking bloody desperately please urgent urgently asap sehr total tres tellement"
    " muy"
)
"""Emphasis: little by itself."""
_FELT, _STRONG = Table(FEELINGS), Table(STRONG)
PICTURES = re.compile("[\u2600-\u27bf\U0001f300-\U0001faff]")
SMILEYS, HEART = (re.compile(":'?-?[()D]"), re.compile(";'?-?[()D]")), "<3"
STRETCHED = re.compile(r"([a-z])\1\1")
SHOUT = 5
"""Letters at least of a word in capitals: shorter ones are acronyms."""
LONGEST, FAR = CAPITALS, 1000
"""Tokens and characters looked at: who is moved shows it early."""
MANY = 4
"""Of marks, capitals and pictures that many count."""


def affect(message: str, text: Text) -> float:
    """In [0, 1)."""
    kinds = text.kinds[:LONGEST]
    cased = text.cased
    shouted = sum([cased[n].isupper() for n in text.written if len(cased[n]) >= SHOUT])
    calls = message.count("!") + message.count("！")
    begun = message[:FAR]
    # By what each begins with: that is looked for in C.
    drawn = sum([len(smiley.findall(begun)) for smiley in SMILEYS]) + begun.count(HEART)
    drawn += 0 if begun.isascii() else len(PICTURES.findall(beyond(begun, halves="ignore")))
    stretched = len(STRETCHED.findall(begun)) if text.drawn else 0
    signs = _FELT.count(kinds) + 0.25 * _STRONG.count(kinds)
    signs += 0.5 * sum([min(count, MANY) for count in (shouted, calls, drawn, stretched)])
    return signs / (signs + 2)
