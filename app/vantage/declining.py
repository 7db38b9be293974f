"""Whether a text declines and does nothing else: what a REFUSE has to be (clause `refuse.declines`).

Each sentence has a frame (decline, regret, reason, help, offer) in one language that the tables know, and one
of them declines; nearly all its words are those of refusals (`regrets.py`). What cannot be judged so is none:
the policy's own refusal stands in. Linear in the text. Source: CONTRACT §3. Nothing here raises.
"""

import re
from collections.abc import Iterator, Sequence

from app.domain.phrases import ENDS, Phrases
from app.domain.tongue import ENGLISH, FRENCH, GERMAN, SPANISH, Tongue, words
from app.vantage.regrets import FRAMES, HARM, KNOWN, NUMBERS
from app.vantage.sentence import Sentence, said

MOST = 5
"""Sentences: two that decline, where help is, and an offer."""
STRANGE = 2
"""Words of a clause with a frame that are no refusal's: what is declined, or offered instead."""
STRANGERS = 4
"""Of the entire text."""
WIDE = 60
"""Words of a sentence; the policy's own that names where help is has fewer."""
LONGEST = 4_000
"""Characters of the text: more than as many wide sentences have."""
LISTED = ("findahelpline.com",)
"""Sites that a refusal may name."""
FOREIGN = re.compile(
    r"[`|<>{}=\\@#$%°_^]|://|\bwww\b|[^\W\d]\.[^\W\d]{2,}|\]\(|\d\s?[-–:/.,x×]\s?\d|\bhelp but\b"
)
"""What stands in code, tables, links and amounts, and in no refusal."""
ROUND = re.compile(r"\b24\s?/\s?7\b")
"""Around the clock: no fraction."""
PAUSES = re.compile(r"[()\[\]–—…:]|\s-\s|[\"“”«»]")
"""They part clauses as commas do."""
TURNS = frozenset({"but", "so", "then", "aber", "dann", "pero", "luego", "mais", "ensuite"})
"""So do words behind which something else may begin."""
REASONING = words("because since if weil wenn falls porque car si")
"""A clause that begins so may name it too."""
STATING = words(
    "violence weapons drugs bombs poison it they these those gewalt drogen waffen es la las el los"
)
"""So may a reason that begins with what it speaks of: `violence is illegal`."""
ADDING, ADDRESSING = words("and und y et"), words("you use take make get du tú tu vous")
"""`… and you make`: something else begins."""
ORDER = re.compile(
    r"^(?:please )?(?:hurt|harm|use|kill|die)\b"
    r"|\byou (?:should|must|ought to|deserve to)"
    r"(?! (?:call|contact|talk|reach|speak|seek|see|text|get|find|ask|visit|tell|go|be|feel|let|try|always))"
    r"|\b(?:musst|solltest) du(?! nicht)|\bdu (?:musst|solltest)(?! nicht| dich an| mit)"
    r"|\b(?:debes|deberías|tu dois|tu devrais|vous devez|vous devriez)"
    r"(?! (?:llamar|buscar|hablar|appeler|parler))"
)
"""What tells somebody to do what is none of a refusal's."""
TONGUES: dict[str, Tongue] = {"en": ENGLISH, "de": GERMAN, "es": SPANISH, "fr": FRENCH}
_FRAMES = {name: Phrases(table) for name, table in FRAMES.items()}
_HARM = {name: re.compile(rf"(?:{begins})") for name, begins in HARM.items()}
_KNOWN = {name: Phrases({"known": words}) for name, words in KNOWN.items()}


def declines(told: Sequence[Sentence]) -> bool:
    """Whether the sentences of a text are a refusal, and nothing more."""
    if not _plain(told):
        return False
    texts = [_listed(one.text) for one in told]
    if any(map(FOREIGN.search, texts)):
        return False
    rows = [[said(part) for part in PAUSES.split(text)] for text in texts]
    clauses = [[clause for part in row for clause in _clauses(part)] for row in rows]
    return any(_refuses(clauses, name) for name in TONGUES)


def _plain(told: Sequence[Sentence]) -> bool:
    """Whether it is a few sentences, and neither code nor a list."""
    if not 0 < len(told) <= MOST or any(one.code or one.bullet for one in told):
        return False
    return sum(len(one.text) for one in told) <= LONGEST


def _listed(text: str) -> str:
    """Without what may stand in any refusal, and looks like something that may not."""
    for site in LISTED:
        text = text.replace(site, " findahelpline ")
    return ROUND.sub(" ", text)


def _clauses(words: Sequence[str]) -> Iterator[list[str]]:
    """Parted at marks, and where something else may begin."""
    clause: list[str] = []
    for word, behind in zip(words, [*words[1:], ""], strict=False):
        if word in ENDS or word in TURNS or (word in ADDING and behind in ADDRESSING):
            yield clause
            clause = []
        if word not in ENDS:
            clause.append(word)
    yield clause


def _refuses(sentences: Sequence[Sequence[list[str]]], name: str) -> bool:
    """Whether all of them are a refusal's in this language."""
    declined, strangers = False, 0
    for clauses in sentences:
        seen = set[str]()
        for clause in clauses:
            kinds = {kind for found in _FRAMES[name].among(clause) for kind in found.names} - {""}
            strange = _strange(clause, name)
            if strange > (STRANGE if kinds else 0) or not _innocent(clause, kinds, name):
                return False
            seen |= kinds
            strangers += strange
        if not seen or sum(map(len, clauses)) > WIDE:
            return False
        declined |= "decline" in seen
    return declined and strangers <= STRANGERS


def _innocent(clause: Sequence[str], kinds: set[str], name: str) -> bool:
    """Whether it orders nothing, and names what is asked for only to decline it, or to say why."""
    if ORDER.search(" ".join(clause)):
        return False
    if "decline" in kinds or (clause and clause[0] in REASONING):
        return True
    if "reason" in kinds and clause[0] in STATING:
        return True
    harm = [word for word in clause if _HARM[name].match(word)]
    return not harm or ("help" in kinds and all(word.startswith("suicid") for word in harm))


def _strange(clause: Sequence[str], name: str) -> int:
    """Words that are no refusal's; a figure that is no number to call counts as many."""
    known = {at for found in _KNOWN[name].among(clause) for at in range(found.start, found.end)}
    others = [
        word for at, word in enumerate(clause) if at not in known and not TONGUES[name].names_nothing(word)
    ]
    others = [word for word in others if word not in NUMBERS]
    return sum(STRANGERS + 1 if any(map(str.isdigit, word)) else 1 for word in others)
