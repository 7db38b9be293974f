"""What a verb cannot do without: `book a table` (where?), `translate this` (what?), `more expensive than`
(what?).

Commands only: "how do I write a letter?" is whole. Tokens are lower-case words without marks. English only;
in doubt nothing is missing. Nothing here raises.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from app.domain.tongue import DETERMINERS, QUESTIONS, words
from app.vantage.hollow import COMPANY, EITHER, EMPTY, NUMBERED, THINGS, VERBS, empty
from app.vantage.mention import worded

WRITINGS = words(
    "email e-mail mail message letter essay review report speech text code paragraph article post blog"
    " script function program reply"
)
NEEDS: Mapping[str, frozenset[str]] = {
    "book": words(
        "table flight flights hotel room ticket tickets appointment taxi trip seat massage car holiday"
    ),
    "order": words("pizza food taxi takeaway groceries lunch dinner breakfast"),
    "send": words("email e-mail mail message text letter invite invitation reminder money file sms"),
    "write": WRITINGS,
    "draft": WRITINGS,
    "compose": WRITINGS,
    "set": words("alarm timer reminder temperature volume"),
    "create": words("list table presentation document file account folder plan schedule chart graph event"),
    "make": words(
        "list table presentation reservation appointment plan schedule chart graph call payment spreadsheet"
    ),
    "schedule": words("meeting call appointment event"),
    "arrange": words("meeting call appointment event"),
    "plan": words("trip event party meeting"),
    "add": words("event item reminder task entry"),
    "cancel": words("order subscription appointment reservation booking meeting flight"),
    "pay": words("bill invoice"),
    "transfer": words("money file files"),
    "convert": words(
        "units unit currency file money number temperature celsius fahrenheit kelvin miles km kilometers"
        " kilometres meters metres feet inches cm pounds kg kilos grams ounces liters litres gallons euros"
        " euro dollars usd eur gbp"
    ),
    "calculate": words("percentage average total sum area tax interest"),
    "find": words("address number file restaurant hotel flight job apartment flat"),
    "call": words("taxi friend"),
    "buy": words("ticket tickets gift present"),
    "update": words("account profile settings"),
    "change": words("account profile settings"),
    "play": words("song track"),
    "remind": words(
        "tomorrow today tonight later monday tuesday wednesday thursday friday saturday sunday am pm"
    ),
}
"""By verb, objects that leave the request as open as before."""
OPERANDS = words(
    "translate proofread correct debug rewrite rephrase reword paraphrase edit format shorten simplify"
    " improve summarise summarize explain check review fix solve describe interpret polish revise analyse"
    " analyze"
    " transcribe evaluate grade extract condense tidy clean refactor optimise optimize comment look"
)
"""Verbs that work on a text, which is to be in the message…"""
MATERIAL = words(
    "text texts sentence sentences paragraph paragraphs passage code essay email e-mail letter poem"
    " script draft message function query equation article word words phrase phrases snippet following"
    " grammar spelling punctuation typos tone wording style formal informal casual professional simple"
    " plain below above attached english french german spanish italian portuguese dutch russian chinese"
    " japanese korean arabic hindi polish turkish greek latin swedish welsh hebrew ukrainian cv resume"
    " homework assignment screenshot diagram image picture photo spreadsheet log logs json csv formula"
    " recording audio video transcript link url attachment cover thesis presentation slides caption"
    " lyrics file notation"
)
"""… and what only points at it, or says what it is to become. Documents and reports are not among them: they
may lie in the service."""
SHOWN = words(
    "text sentence sentences paragraph paragraphs passage code essay poem script snippet function query"
    " equation homework assignment cv resume screenshot image picture photo"
)
SHOWING = words("this these that the my following attached below above")
PASTED = words("pasted wrote written sent shared uploaded attach paste read sense")
"""A text is spoken of as if it were there. Letters and articles are not among SHOWN: they may be kept."""
TROUBLES = words("wrong error errors broken fail fails failing work working mistake mistakes bug bugs")
ASKING = words("what why where is are does")
FILES = words(
    "file files folder image picture photo video link attachment script code program function app application"
    " page website form chart graph color colour size font title layout background"
)
"""`Delete the file`: which of so many."""
MENTIONING = words("translate define spell pronounce say type print echo")
POINTING = words(
    "this that it these those the my following some a an into to in from please for me everything"
    " so about when where if"
)
"""After a verb of MENTIONING anything else is what is meant: `define help`."""
PLACEHOLDERS = words(
    "a b x y this that these those it them they one ones other two both the thing things something"
)
ACTIVITIES = words(
    "write run draw think ask give translate buy sort summarize summarise explain debug proofread design test"
    " compare analyze analyse save print"
)
"""Verbs that are something to learn by themselves."""
CUT = words("than the and or but between versus vs because my your whose its")
"""No message ends with one of these, unless it was cut off."""
ORDERS = VERBS | EITHER
ENDINGS = (
    "get to|go to|how to|want to|need to|way to|like to|possible to|able to|going to|trying to|have to"
    "|know how|me about|know about|help with|me with|looking for|list of|talk about|compared to"
    "|instead of|because of|according to|based on|depends on|translate to|translate into|convert to"
    "|convert into|turn into|wondering if|wondering whether|ask if|ask whether|know if|know whether"
)
"""Nor with two of these, unless it is a question that may end with a preposition."""
BROKEN = frozenset(tuple(ending.split()) for ending in ENDINGS.split("|"))
COULD = words("can could would should might")
WHETHER = words("if whether")
"""`I wondered if you could`."""
STANDING = words(
    "made think thought heard tired afraid full proud capable aware consist consists part dream fond"
)
"""Words that may end a question together with `of`."""
COMPARATIVES = words(
    "better worse faster slower cheaper healthier stronger safer bigger smaller easier harder warmer"
    " colder heavier lighter taller older younger richer"
)
POLITE = COMPANY | words("i is would like to want need you will me let's help quickly kindly just have")


def missing(lower: Sequence[str], given: bool) -> bool:
    """Whether a command has no object to work on. `given`: there is a text to work on (`Message.given`)."""
    start = next((n for n, word in enumerate(lower) if word not in POLITE), len(lower))
    rest = lower[start:]
    if not rest or given:
        return False
    return _open(rest) or _pointed(rest) or _numbered(rest) or _pasted(lower)


def _open(rest: Sequence[str]) -> bool:
    """A verb with an object for anything; `miles to km` names two, and is enough."""
    needs = NEEDS.get(rest[0], frozenset())
    if all(word in needs or empty(rest, n) for n, word in enumerate(rest)):
        return sum(word in needs for word in rest) == 1
    return (
        rest[0] in ORDERS
        and "the" in rest
        and all((word in FILES and rest[n - 1] == "the") or empty(rest, n) for n, word in enumerate(rest))
    )


def _pointed(rest: Sequence[str]) -> bool:
    """A verb that works on a text, or trouble with one, and none there."""
    if mentions(rest) or not (rest[0] in OPERANDS or (rest[0] in ASKING and not TROUBLES.isdisjoint(rest))):
        return False
    return all(word in MATERIAL or empty(rest, n) for n, word in enumerate(rest))


def _pasted(lower: Sequence[str]) -> bool:
    """`Here is my essay, what do you think?`, and no essay there."""
    shown = any(word in SHOWN and before in SHOWING for before, word in pairwise(lower))
    return shown and all(
        word in MATERIAL or word in PASTED or empty(lower, n) for n, word in enumerate(lower)
    )


def _numbered(rest: Sequence[str]) -> bool:
    """One number, and nobody knows of what."""
    if rest[0] not in NUMBERED:
        return False
    times = NEEDS["remind"] if rest[0] == "remind" else frozenset()
    return all(word.isdecimal() or word in times or empty(rest, n) for n, word in enumerate(rest)) and (
        sum(word.isdecimal() for word in rest) < 2
    )


def mentions(lower: Sequence[str]) -> bool:
    """Whether a word is meant as a word, or as what it names: `define help`, `what is information?`"""
    if any(word in MENTIONING and after not in POINTING for word, after in pairwise(lower)):
        return True
    if lower[-1:] == ["mean"] and len(lower) == 4:
        return lower[2] not in POINTING
    return _defined(lower) or _between(lower) or _activity(lower) or worded(lower)


def _defined(lower: Sequence[str]) -> bool:
    """`What is a process?`, `what is matter?`"""
    if lower[:2] not in (["what", "is"], ["what", "are"]):
        return False
    noun = lower[3:] if lower[2:3] in (["a"], ["an"]) else lower[2:]
    return len(noun) == 1 and noun[0] in THINGS and not noun[0].endswith("thing")


def _between(lower: Sequence[str]) -> bool:
    """`The difference between then and than`."""
    at = list(lower).index("between") if "between" in lower else len(lower)
    pair = lower[at + 1 : at + 4]
    return len(pair) == 3 and pair[1] == "and" and PLACEHOLDERS.isdisjoint(pair)


def _activity(lower: Sequence[str]) -> bool:
    """`How to run faster`: what is done needs no object."""
    if lower[:1] != ["how"] or not (lower[1:2] == ["to"] or lower[2:3] == ["i"]):
        return False
    return not ACTIVITIES.isdisjoint(lower) and PLACEHOLDERS.isdisjoint(lower)


def cut(lower: Sequence[str]) -> bool:
    """Whether a message ends before it is finished."""
    if not 1 < len(lower) <= 14 or worded(lower):
        return False
    last, before = lower[-1], lower[-2]
    if last in COULD and before in ("you", "i", "we") and not WHETHER.isdisjoint(lower[1:-2]):
        return lower[0] in ("i", "we")
    return _unfinished(lower, before, last)


def _unfinished(lower: Sequence[str], before: str, last: str) -> bool:
    """Whether nothing ends with its last two words, or a question of its kind does not."""
    asked = lower[0] in QUESTIONS and lower[0] != "how"
    if last == "of" and before not in STANDING and (before.isdecimal() or _of(lower)):
        return True
    if last == "a":
        return before in EMPTY and before not in THINGS
    return last in CUT or (not asked and (before, last) in BROKEN)


def _of(lower: Sequence[str]) -> bool:
    """`What is the capital of`; `what country is Lima the capital of` is whole."""
    asked = lower[0] in QUESTIONS and lower[1] in ("is", "are", "was", "were") and lower[2] == "the"
    return asked or (lower[0] not in QUESTIONS and lower[-3:-2] == ["the"])


def onesided(lower: Sequence[str]) -> bool:
    """A comparison of one thing with nothing: `is Python faster?`"""
    if lower[:1] not in (["is"], ["are"]) or lower[-1] not in COMPARATIVES:
        return False
    return (
        3 <= len(lower) <= 5
        and DETERMINERS.isdisjoint(lower[-2:-1])
        and lower[-2] not in ("getting", "any", "or")
    )
