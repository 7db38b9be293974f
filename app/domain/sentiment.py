"""Whether somebody was content with an answer, by the words they use; None where words do not tell.

Plain markers ("thanks", "useless") count wherever they stand near the beginning. Loose ones ("great", "no")
count only where they judge: in a clause of their own, or after "that's"; a negator just before turns them
round. Both kinds in one message: None, for a model to decide. Source: seed 003 (3.2). Nothing here raises.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum

from app.domain.phrases import ENDS, Found, Phrases, words
from app.domain.tongue import words as wordset

NEAR = 400
"""Characters looked at: the verdict comes first, then the next question."""


class Sentiment(StrEnum):
    """What a person thought of an answer."""

    POSITIVE = "positive"
    NEGATIVE = "negative"
    NEUTRAL = "neutral"
    """For those who must decide; never found here."""


PLAIN = {
    "": (
        "no thanks|no thank you|no problem|no worries|no need|nein danke|non merci|no gracias|thanks to"
        "|thanks anyway|not sure|right now|didn't work out|doesn't work out|exactly what is"
        "|exactly what does|exactly how|exactly when|exactly where"
    ),
    "thanks": (
        "thanks|thank you|thx|ty|thank u|cheers|much appreciated|appreciate it|can't thank you enough"
        "|can't complain|couldn't be better|no complaints|never better|nailed it|you nailed it|well done"
        "|good job|great job|nice job|good work|great work|nice work|spot on|that's it|that's the one"
        "|love it|i love this|loved it|just what i needed|exactly what i needed|what i was looking for"
        "|that works|works now|that worked|it worked|makes sense|you're right|you are right|that helps"
        "|this helps|that helped|not bad|that's not bad|it's not bad|this is not bad|that is not bad"
        "|not too bad|danke|vielen dank|dankeschön|stimmt genau|das hilft|merci|ça marche|c'est ça|gracias"
        "|eso es|grazie|obrigado|obrigada|спасибо|ありがとう|谢谢|感谢"
        "|감사합니다|고마워|شكرا|धन्यवाद|teşekkürler|dziękuję"
        "|tack|dank je"
    ),
    "negative": (
        "useless|unhelpful|no good|no use|makes no sense|make no sense|made no sense|nonsense|rubbish"
        "|garbage|that's not|thats not|that isn't|that is not|this is not|this isn't|it's not what"
        "|not what i asked|not what i meant|not what i wanted|didn't ask|doesn't help|does not help"
        "|didn't help|did not help|don't like|not like that|doesn't work|does not work|didn't work"
        "|you're wrong|you are wrong|that's wrong|you misunderstood|you missed|missed the point|try again"
        "|wrong answer|not good enough|waste of time|made that up|you made this up|hallucinat*|stop saying"
        "|stop doing|stimmt nicht|das ist falsch|hilft nicht|nicht hilfreich|c'est faux|pas utile"
        "|ça ne marche pas|no sirve|no es correcto|eso no|no funciona|non funziona|неправильно|неверно|не то"
        "|бесполезно|错了|不对|没用|違う|違います|틀렸어"
    ),
}
LOOSE = {
    "positive": (
        "perfect|perfectly|great|excellent|awesome|amazing|brilliant|fantastic|wonderful|exactly|exact"
        "|helpful|useful|good|nice|cool|correct|right|lovely|superb|accurate|clear|yes|yep|yeah|bravo|wow"
        "|better|perfekt|genau|super|toll|prima|richtig|hilfreich|ja|klasse|parfait|exactement|génial|oui"
        "|utile|bien|perfecto|exacto|excelente|genial|sí|correcto|perfetto|esatto|ottimo|perfeito|ótimo"
        "|отлично|да|完美|很好|对"
    ),
    "negative": (
        "no|nope|nah|wrong|incorrect|bad|terrible|awful|horrible|inaccurate|false|confusing|misleading|worse"
        "|irrelevant|disappointing|disappointed|poor|nein|falsch|schlecht|non|faux|mauvais|inutile"
        "|incorrecto|mal|inútil|sbagliato|errado|нет|плохо"
    ),
}
TURNED = wordset(
    "not never hardly isn't wasn't aren't don't doesn't didn't can't cannot won't wouldn't nothing nicht"
    " kein keine pas nada не"
)
"""Negators; they reach two words ahead."""
LEADS = wordset(
    "exactly perfectly that's thats that this it's its it is was are were very so really pretty quite just"
    " absolutely totally much too the a answer answers reply response looks sounds feels seems work works be"
    " been das ist war sehr ganz c'est est très es muy está è molto это очень not never isn't wasn't nicht"
    " pas no не completely simply ok oh ah well all"
)
"""After one of these, or at a clause's beginning, a loose word judges…"""
FOLLOWS = wordset(
    "answer answers reply response one point stuff thanks thank and but so that this now then again really"
    " though indeed at for to i you it's that's what the, job work explanation summary list danke merci"
    " gracias"
)
"""… if the clause ends, or goes on with one of these."""
GOOD, BAD = ("👍", "👌", "❤", "🎉", "👏", "💯"), ("👎", "😠", "😡", "🤬", "💩")
_PLAIN, _LOOSE = Phrases(PLAIN), Phrases(LOOSE)
_OTHER = {Sentiment.POSITIVE: Sentiment.NEGATIVE, Sentiment.NEGATIVE: Sentiment.POSITIVE}


def marked_sentiment(text: str) -> Sentiment | None:
    """Positive or negative; None if no marker is there, or markers of both."""
    near = text[:NEAR]
    said = words(near)
    plain = list(_PLAIN.among(said))
    taken = {at for found in plain for at in range(found.start, found.end)}
    found = {*_emoji(near), *_plainly(plain), *_loosely(said, taken)}
    return found.pop() if len(found) == 1 else None


def _emoji(text: str) -> Iterator[Sentiment]:
    """What pictures say, whatever their colour."""
    if any(mark in text for mark in GOOD):
        yield Sentiment.POSITIVE
    if any(mark in text for mark in BAD):
        yield Sentiment.NEGATIVE


def _plainly(found: Sequence[Found]) -> Iterator[Sentiment]:
    """Markers that nothing turns round."""
    for part in found:
        if "thanks" in part.names:
            yield Sentiment.POSITIVE
        elif "negative" in part.names:
            yield Sentiment.NEGATIVE


def _loosely(said: Sequence[str], taken: set[int]) -> Iterator[Sentiment]:
    """Markers that judge where they stand; with a negator before them, the other way round."""
    for part in _LOOSE.among(said):
        if part.start in taken or not _judges(said, part):
            continue
        meant = Sentiment(part.names[0])
        before = [word for word in said[max(0, part.start - 2) : part.start] if word not in ENDS]
        yield _OTHER[meant] if TURNED.intersection(before) else meant


def _judges(said: Sequence[str], part: Found) -> bool:
    """Whether a loose word is a verdict: see LEADS and FOLLOWS."""
    before = said[part.start - 1] if part.start else "."
    after = said[part.end] if part.end < len(said) else "."
    if said[part.start] in {"no", "non", "yes", "ja", "да", "нет"}:
        return before in ENDS and after in ENDS
    return (before in ENDS or before in LEADS) and (after in ENDS or after in FOLLOWS)
