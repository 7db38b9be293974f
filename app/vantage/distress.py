"""Whether somebody tells that they do not want to live, and asks for no way to die.

Such a message is met with where people help, not with a refusal; whoever asks for a method, a text or a
judgement of one in the same message is refused as ever. Words without apostrophes, folded; English in full,
German, Spanish and French compactly. Nothing here raises.
"""

import re
from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import compress

from app.vantage.alarm import framed
from app.vantage.kinds import ALNUM, PART, Table
from app.vantage.topics import END
from app.vantage.words import ENDS, Text

QUESTION = "?？"
SIGNALS = frozenset(
    """die dying dead kill killing kms myself life live living alive exist existing end ending suicide born
    gone disappeared without sterben leben umbringen umzubringen um toten morir morirme matarme suicidarme
    vivir vida desaparecer mourir tuer suicider vivre finir""".split()  # noqa: SIM905
)
"""Without one of these nothing is looked at."""
SLANG = frozenset({"kms", "i", "gonna", "omg", "'mma", "imma"})
"""A message of these alone says it, too."""
DEED = (
    r"(?:die|be dead|kill(?:ing)? myself|end(?:ing)? (?:it all|it tonight|it today|it now|my (?:own )?life"
    r"|my suffering)|tak(?:e|ing) my (?:own )?life|hang(?:ing)? myself|shoot(?:ing)? myself|drown(?:ing)?"
    r" myself"
    r"|hurt(?:ing)? myself|harm(?:ing)? myself|commit(?:ting)? suicide|suicide|dying|unalive myself|kms"
    r"|not (?:be alive|exist|wake up)|never wake up|disappear forever|stop existing)"
)
WANT = (
    r"(?:want to|wanna|would like to|wish to|wish i could|am going to|m going to|am gonna|m gonna|will|am"
    r" about to"
    r"|m about to|plan to|plan on|planning to|planning on|have decided to|ve decided to|decided to|might|may"
    r"|am ready to|m ready to|keep thinking (?:about|of)|think (?:about|of)|am thinking (?:about|of)"
    r"|m thinking (?:about|of)|thought about|feel like|tried to|tried|attempted to|attempted|have tried to"
    r"|ve tried to|almost|nearly|need to|just want to|have to)"
)
TOLD = re.compile(
    rf" (?:i(?: (?:really|just|honestly|still|also|actually|only|always|often|think i|dont know i))? ?{WANT}"
    rf" (?:just |really |finally )?{DEED}"
    r"|i(?: (?:really|just))? (?:dont|do not|no longer|didnt) (?:really )?want to (?:live|be alive|be"
    r" here anymore|exist|wake up|go on living)"
    r"|i (?:almost|nearly) killed myself|i wish i (?:was|were|am) (?:dead|never born)|i wish i (?:was"
    r"|were|had|d) never (?:been )?born"
    r"|(?:no ?one|nobody) would (?:even )?(?:miss me|care|notice)(?: if i (?:was|were|am|died|die"
    r"|disappeared|killed|disappear|did)(?: (?:gone|dead|not here|myself))?)"
    r"|(?:everyone|everybody|they|my family|the world) (?:would be|is|d be|are) better off without me"
    r"|im better off dead|id be better off dead|i(?: would|d) be better off dead|i(?: would|d) rather be dead"
    rf"|i have (?:a|the|my) plan to (?:{DEED}|end it)|i have planned my (?:suicide|death)"
    r"|(?:i have|there is|theres|i see|ive) (?:no|nothing) (?:reason|point|will|left)? ?(?:to|in|for)"
    r" (?:live|living|live for|going on living)|my life is (?:over|not worth living)"
    r"|ich (?:will|mochte|wunsche mir zu|wurde gern(?:e)?|werde)(?: [a-z]+)? (?:nicht mehr leben|sterben"
    r"|tot sein"
    r"|mich umbringen|mich toten)|ich (?:will|mochte) (?:einfach )?(?:nicht mehr|nicht langer) (?:leben"
    r"|da sein)|ich (?:will|werde|mochte) mich (?:umbringen|toten)|ich bringe mich(?: [a-z]+)? um"
    r"|ich habe versucht mich (?:umzubringen|zu toten)"
    r"|(?:me )?quiero (?:morir|morirme|matarme|suicidarme|desaparecer)|voy a (?:matarme|suicidarme"
    r"|quitarme la vida)|no quiero (?:vivir|seguir viviendo)|ya no quiero vivir"
    r"|intente (?:suicidarme|matarme|quitarme la vida)"
    r"|je (?:veux|vais|voudrais)(?: juste)? (?:mourir|me tuer|me suicider|en finir)|je (?:ne )?veux plus"
    r" vivre|jai (?:essaye|tente) de (?:me tuer|me suicider)) "
)
"""Of oneself, as a wish, a plan or a deed that failed."""
NEEDED = frozenset(
    """die dead myself end ending life suicide dying kms alive exist wake disappear existing live anymore
    living born miss care notice off death leben sterben tot umbringen toten sein um umzubringen morir
    morirme matarme suicidarme desaparecer vida vivir viviendo mourir tuer suicider finir
    vivre""".split()  # noqa: SIM905
)
"""Whatever TOLD or `kms` finds has one of these: no other sentence is read."""
OTHERWISE = re.compile(
    rf" {DEED} (?:laughing|of (?:laughter|boredom|embarrassment|old age|cringe|shame)|from (?:laughter"
    rf"|boredom|cringe)"
    r"|my hair|in (?:game|creative|survival|a game|this game|the game|minecraft|my sleep at)|with laughter"
    r"|on this hill|on that hill|on the hill|sure|serious|tired|for (?:a|some|this|that) (?:pizza|coffee"
    r"|burger))|(?:morir|morirme) de (?:risa|calor|hambre|verguenza)|mourir de (?:rire|faim|honte|chaud)"
    r"|(?:lachen|langeweile|scham) sterben"
)
"""Figures of speech and games."""
COMFORT = re.compile(
    r" (?:what (?:should|do|can|must) i do(?: now)?|what to do|i dont know what(?: [a-z]+)?|whats the point"
    r"|what is the point|how much longer|how (?:do|can|should) i (?:stop (?:feeling|thinking|wanting"
    r"|hating|these|this"
    r"|myself|the)|cope|go on|keep going|live|get help|find help|survive|feel better|tell (?:my|them|him"
    r"|her|someone"
    r"|anyone))|how to (?:stop (?:feeling|thinking|wanting|these|this)|cope|go on|get help|live|feel better)"
    r"|how i feel|how bad|how tired|who can i (?:talk|call|turn)(?: to)?|who to (?:call|talk to)"
    r"|where can i (?:get|find) help|(?:please|can you|can someone|could you|will you) help(?: me)?"
    r"|help me(?! (?:to )?(?:do|die|end|kill|hang|commit|finish|with it|plan|write|find|get))"
    r"|can (?:i|we|you|anyone|someone) (?:talk|listen)(?: to (?:you|me|someone))?|why"
    r"|does (?:anyone|anybody|it) (?:even )?(?:care|matter|get better|ever stop)|will it (?:ever )?(?:get"
    r" better|stop)"
    r"|is (?:anyone|anybody|there (?:anyone|hope|help))(?: there)?|am i (?:alone|crazy|broken|a bad person)"
    r"|i need (?:some |your )?(?:help|someone|somebody|to talk)(?: to)?|tell (?:anyone|anybody|my [a-z]+"
    r"|him|her|them)"
    r"|was soll ich (?:tun|machen)|que (?:debo|puedo) hacer|ayuda(?:me)?|hilf mir|aidez moi|que (?:dois"
    r"|puis) je faire"
    r")(?= )"
)
"""What is asked for in need: no way to die."""
SAID = re.compile(
    r" (?:(?:so|too|this) (?:much|many)|had enough|i can|no (?:other )?way(?: out)?|(?:the )?only way(?:"
    r" out)?"
    r"|the way i feel|(?:feel|feeling) this way|best friend|dont know (?:how|what)(?= (?:to (?:go|cope"
    r"|say)|else)))"
    r"(?= )"
)
"""What is said with a word of asking, and asks for nothing."""
ASKED = frozenset(
    """how way ways method methods painless painlessly quick quickest quickly fast fastest easy easiest
    easily best cleanest dose dosage doses lethal fatal buy obtain order acquire recipe step steps
    instructions instruction guide manual tutorial give show explain describe list outline teach provide
    tell write draft compose poem story script which where what many much enough tips tip suggest
    suggestion suggestions recommend option options idea ideas compare rank calculate need roleplay
    pretend imagine can could wie womit wo welche methode methoden schmerzlos schnell dosis anleitung gib
    sag nenne zeig schreib como donde cual metodo metodos manera forma dosis dime dame indica escribe
    rapido comment quel quelle methode moyen moyens facon dose indolore donne dis explique ecris
    rapidement""".split()  # noqa: SIM905
)
"""Whoever says one of these beside may want to have, know or read how."""
HEALING, SOMEONE = (
    r"(?! (?:\w+ )?(?:helps?|treats?|against|for))",
    r"(?! (?:some|somebody|someone|help|your|you|a (?:break|rest)))",
)
"""Not before these: pills that help, somebody to turn to."""
METHOD = re.compile(
    r" (?:dos(?:e|age)|lethal|fatal|painless(?:ly)?|least painful|methods?|quickest|easiest|fastest|how(?= $)"
    r"|how (?:(?:do|can|should|could|would) i|to|best to) (?:do it|do this|die|kill|end|hang)"
    r"|ways? (?:to (?:do it|die|go|kill|end|hang)|of (?:dying|killing))|wie(?= $)|wie (?:geht|mache|kann)"
    r" (?:das|ich)|methoden?|schmerzlos|dosis|como(?= $)|como (?:lo hago|hacerlo|puedo)|metodos?|sin dolor"
    r"|comment(?= $)|comment (?:faire|mourir|je)|methodes?|sans douleur|indolore"
    r"|(?:which|what) (?:(?:kind|sort|type) of )?(?:an? )?(?:ropes?|pills?|tablets?|drugs?|medications?"
    rf"|poisons?|bridges?|buildings?|guns?|knife|height){HEALING}"
    r"|how (?:high|tall|deep) (?:an?|must|should|does|do i)"
    r"|how many (?:pills|tablets|mg|milligrams|grams|do i need)"
    r"|(?:are|is) \d+ (?:(?!years|months|weeks|days|hours)\w+ ){1,3}(?:enough|too many|too much)"
    r"|pills? enough|(?:should|can|could) i (?:use|jump|swallow|inject)"
    rf"{SOMEONE}) "
)
"""Whoever says this beside surely does: a way, a means, an amount."""
WAY = re.compile(METHOD.pattern.replace(HEALING, "").replace(SOMEONE, ""))
"""What METHOD finds before what is said in need is cut out: that may have stood behind it."""


_SIGNALS, _NEEDED, _PARTS, _ENDS = Table(SIGNALS), Table(NEEDED), Table(look=PART), Table(ENDS)
_KEPT = Table(ENDS, ALNUM | PART)
_ENDED = (*((mark, END) for mark in sorted(ENDS - {*QUESTION, END})), ("？", "?"), ("?", f"? {END}"))
"""Marks that end a sentence, as the rows have them; none is part of a word."""
WHOLE = slice(None)


_BEGUN = frozenset(word[:size] for word in NEEDED for size in range(1, len(word)))
"""How words of it begin: few words before an apostrophe do."""


class Tale(Enum):
    """What a message tells of its writer's wish to die."""

    NONE = 0
    TOLD = 1
    """Nothing in the whole message may ask for a way."""
    DOUBTFUL = 2
    """Something may."""
    ASKED = 3
    """A way is asked for."""


def told(text: Text) -> Tale:
    """Which of them."""
    if not _SIGNALS.count(text.kinds):
        return Tale.NONE
    telling = next((said for said in _needed(text) if any(map(_telling, _rows(text, said)))), None)
    # The sentence first, for whatever it holds the whole holds, too.
    if telling is None or not (_said(text.tokens[telling]) or _said(text.tokens) or _slang(text)):
        return Tale.NONE
    rows = _rows(text)
    if any(METHOD.search(COMFORT.sub(" ", row)) for row in filter(WAY.search, rows)):
        return Tale.ASKED
    return Tale.DOUBTFUL if any(_asking(row) for row in rows) else Tale.TOLD


def _said(tokens: Sequence[str]) -> bool:
    """Whether it is told with the marks between its words."""
    return TOLD.search(f" {' '.join(tokens)} ".replace(" '", "").replace(" ,", "")) is not None


def _slang(text: Text) -> bool:
    return SLANG.issuperset(text.words)


def _needed(text: Text) -> Iterator[slice]:
    """Where sentences that may tell stand: they have a word of NEEDED, as it stands or joined to its part."""
    if _ENDS.marks(text.kinds[:1]) == b"\1":
        yield WHOLE
        return
    ends = _ENDS.marks(text.kinds)
    behind = 0
    for place in sorted({*spots(_NEEDED.marks(text.kinds)), *_joined(text)}):
        if place >= behind:
            begun = ends.rfind(1, 0, place) + 1
            behind = ends.find(1, place) + 1 or len(ends)
            yield slice(begun, behind)


def _joined(text: Text) -> Iterator[int]:
    """Where a word and what follows its apostrophe make one of NEEDED, perhaps."""
    tokens = text.tokens
    for place in spots(_PARTS.marks(text.kinds)):
        before = tokens[place - 1]
        if before[0] == "'" or (before in _BEGUN and before + tokens[place][1:] in NEEDED):
            yield place


def spots(marks: bytes) -> Iterator[int]:
    """Where few stand: those between are passed over in C."""
    place = marks.find(1)
    while place >= 0:
        yield place
        place = marks.find(1, place + 1)


def _rows(text: Text, part: slice = WHOLE) -> list[str]:
    """Words of each sentence, blanks on either side; `?` where it ends so. Some have no word."""
    said = " ".join(compress(text.tokens[part], _KEPT.marks(text.kinds[part])))
    for mark, end in _ENDED:
        if mark in said:
            said = said.replace(mark, end)
    said = said.replace(" '", "").replace(f" {END}", " \n ")
    return f" {said} ".split("\n")


def _telling(row: str) -> bool:
    slang = " kms " in row and SLANG.issuperset(row.split())
    meant = (slang or TOLD.search(row) is not None) and OTHERWISE.search(row) is None
    return meant and not framed(row)


def _asking(row: str) -> bool:
    """A question, or a word of asking, besides what is asked for in need."""
    left = COMFORT.sub(" ", row)
    asks = " ? " in row and left == row
    return asks or not ASKED.isdisjoint(SAID.sub(" ", left).split())
