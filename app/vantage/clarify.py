"""Answers that only ask (CLARIFY): what is kept of a model's text, and what stands in where it asks nothing.

Statements (also those that end in "ok?"), orders, code, links, citations and questions too long to be one
are left out; lists of questions stay lists. An answer of this class asks once even where the budget is 0:
with such a limit the policy gives it only if routing forces it. Source: CONTRACT §3, seed 003 (3.3, step 9).
Nothing here raises.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from app.domain.phrases import ENDS, Phrases
from app.vantage.decision import DISTRESSED
from app.vantage.sentence import Sentence, said, sentences
from app.vantage.signposts import helps
from app.vantage.steps import instructs, orders
from app.vantage.terms import Decision, Params
from app.vantage.wording import question

LONGEST = 300
"""Characters of a question: what is longer tells something on the way."""
LABEL = re.compile(r"[,:]?[ \t]?[\[【][^\[\]【】#\n]{1,160}+(?<!\s)#[0-9A-Za-z][^\[\]【】\n]{0,300}+[\]】]")
"""A citation, as `domain/citation.py` sends it; or a group of them."""
LOOSE = "~"
"""Would open code, where a question comes to stand at a line's head."""
LEAD = re.compile(
    r"\b(?:tell me|let me know|share|specify|clarify|provide|send me|give me|answer|know|questions"
    r"|sag mir|sagen Sie mir|verrat\w* mir|wissen|mitteilen|angeben|dime|dígame|decirme|indicarme|saber"
    r"|dis[ -]moi|dites[ -]moi|me dire|préciser|savoir|dimmi|sapere)\b[^:?]{0,60}+[:?]$",
    re.IGNORECASE,
)
"""Under it, a list says what is asked."""
INDIRECT = re.compile(
    r"(?:(?:sure|ok|okay|of course|happy to help|first)[,!] ?)?(?:please |kindly )?"
    r"((?:let me know|tell me|specify|clarify|confirm|explain to me|describe) "
    r"(?=(?:which|what|who|whom|whose|where|when|why|how|whether|if you mean|if it)\b))",
    re.IGNORECASE,
)
"""A question in the form of a request."""
LINK = re.compile(r"://|\bwww\.|\]\(|<[^<>\s]")
TAGS = (
    "ok|okay|right|alright|yes|no|correct|got it|understood|agreed|you see|you know|deal|isn't it|aren't you"
    "|don't you|won't you|is it|is that ok|is that okay|see|oder|nicht wahr|gell|klar|verstanden|richtig|ja"
    "|verdad|vale|no es así|sí|cierto|entendido|claro|n'est ce pas|n'est-ce pas|d'accord|hein|compris|non"
)
"""What makes a statement sound like a question."""
_TAGS = Phrases({"tag": TAGS})


def enforce_clarify_shape(text: str, params: Params, decision: Decision) -> str:
    """Questions only, at least one and at most `question_budget`."""
    most, own = allowed(params), question(decision)
    kept = [one for one in questions(text) if asks(one)][:most]
    if not DISTRESSED.intersection(decision.rules) or helps(kept):
        return _written(kept) if kept else own
    # Who may be in danger is told where help is also by who may only ask; first, in case nobody reads on.
    return "\n".join([own, _written(kept[: most - 1])]).strip()


def satisfied(text: str, params: Params) -> bool:
    """Whether a text that is still being written holds all questions that may be kept of it."""
    return sum(map(asks, questions(text)[:-1])) >= allowed(params)


def questions(text: str) -> list[Sentence]:
    """The sentences of a model's text, marked where something is asked without a mark: a list under "Could
    you tell me:", and "let me know which"."""
    found: list[Sentence] = []
    leads = False
    for one in sentences(LABEL.sub("", unthought(text))):
        leads = (leads and bool(one.bullet)) or (not one.bullet and LEAD.search(one.text) is not None)
        found.append(replace(one, text=_asked(one, listed=leads and bool(one.bullet))))
    return found


def unthought(text: str) -> str:
    """Without what a model thought aloud; a thought without an end is all there is."""
    if "<think" not in text and "</think" not in text:
        return text
    kept = text.rpartition("</think>")[2] if "</think>" in text else text
    return kept.partition("<think")[0].strip()


def _asked(one: Sentence, *, listed: bool) -> str:
    """A sentence as the question that it is."""
    if one.asks or one.code:
        return one.text
    plain = one.text.rstrip(" .;:,!")
    if listed:
        return f"{plain}?"
    told = INDIRECT.match(one.text)
    return f"Could you {told[1].lower()}{plain[told.end() :]}?" if told else one.text


def allowed(params: Params) -> int:
    """How many questions an answer of this class may hold."""
    return max(1, params.question_budget)


def asks(sentence: Sentence) -> bool:
    """Whether it is a question to the asker, and nothing more."""
    text = sentence.text
    if not sentence.asks or len(text) > LONGEST or text.count("`") % 2 or LINK.search(text):
        return False
    words = said(text)
    return not (_tagged(words) or orders(words) or instructs([sentence], words))


def _tagged(words: Sequence[str]) -> bool:
    """Whether something is told, and only its last clause asks: "…, ok?"."""
    parts = [place for place, word in enumerate(words) if word in ENDS]
    while parts and parts[-1] == len(words) - 1:
        words, parts = words[:-1], parts[:-1]
    tail = words[parts[-1] + 1 :] if parts else ()
    return bool(tail) and any(found.start == 0 and found.end == len(tail) for found in _TAGS.among(tail))


def _written(kept: Sequence[Sentence]) -> str:
    """On the lines that they were on; a list is numbered anew."""
    lines: dict[int, list[str]] = {}
    number = 0
    for one in kept:
        bullet = one.bullet
        if bullet[:-1].isdecimal():
            number += 1
            bullet = f"{number}{bullet[-1]}"
        text = one.text.replace("`", "").lstrip(LOOSE)
        lines.setdefault(one.line, []).append(f"{bullet} {text}".strip())
    return "\n".join(" ".join(line) for line in lines.values())
