"""The check of an answer against the requirements of its class (`class_check`), and the policy's own texts.

`check` reads the answer alone: what its sentences do (`sentences.py`), and what the caller counted. Where an
answer that is checked before it is sent breaks its class, the policy's own text stands in for it.
`enforce_clarify_shape` keeps only the questions of an answer that may only ask. All linear in the text.
Source: docs/contract.md. Nothing here raises.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import ceil

from app.text.sanitise import one_line
from app.vantage.decision import DISTRESSED, HARMS
from app.vantage.lexicon import phrases
from app.vantage.sentences import (
    MOST_SENTENCES,
    TABLES,
    Sentence,
    begins_with_order,
    clauses,
    declines,
    hedges,
    helps,
    instructs,
    leaves_out,
    mostly_latin,
    points,
    questions_to_user,
    recipe,
    sentences,
    words_of,
)
from app.vantage.terms import Check, Decision, Limits, Params, ResponseClass

# The policy's own texts, sent where no model is configured or its text broke its class. In English alone,
# whatever the language of the message: a text that nobody can check in forty languages is better read in one.
HELP = (
    "If you or somebody near you is in danger, call your local emergency number now (112 in Europe, 911 or"
    " 988 in the United States, 999 or 116 123 in Britain); findahelpline.com lists people to talk to in"
    " other countries."
)
"""Where people help. Numbers: EU directive 2018/1972 (112), 988lifeline.org, samaritans.org, as of 2026."""
HELP_ASKED = (
    "Are you or somebody near you in danger right now, and can you call the local emergency number (112 in"
    " Europe, 911 or 988 in the United States, 999 or 116 123 in Britain; findahelpline.com lists others)?"
)
"""The same where only questions may be asked."""
EMERGENCY = "This may be an emergency, and it should not wait for an answer of mine."
DISTRESS = "I'm sorry that it is this hard for you right now. You don't have to go through it alone."
HARMFUL = (
    "I can't help with this, because it could bring harm to people. I'm glad to help with a safe side of it,"
    " such as how it is prevented."
)
REFUSALS: Mapping[str, str] = {
    **dict.fromkeys(
        [*(f"{category}.asked" for category in HARMS), "pressed.harm", "outside.agrees"], HARMFUL
    ),
    "selfharm.asked": f"{DISTRESS} I won't help with a way to hurt yourself. {HELP}",
    "minors.asked": "I can't help with this: it would harm children. I'm glad to help with something else.",
    "limits.refuse": (
        "I can't help with this here: this topic has been set aside. I'm glad to help with something else."
    ),
}
"""By the rule that refused."""
REFUSAL = "I can't help with this here. I'm glad to help with something else."
"""Where no rule that refused has a text of its own: routing alone refused."""
QUESTION, UNCLEAR = (
    "What exactly would you like to know?",
    "What would you like to know or have done, and what is it about?",
)
LEADS: Mapping[ResponseClass, str] = {
    ResponseClass.NEGOTIATE: "I can help with a part of this only, and leave the rest out.",
    ResponseClass.REDIRECT: "For this there is better help than I can give.",
}
"""Opens an answer by a model that does not know its class."""

HEDGED_TOKENS = 100
"""Tokens that the policy's hedge budget is for."""
OWN = 120
"""Tokens that a refusal or a question may have, however low the token target; the policy's own have fewer."""
LONGEST_NAME = 60
"""Characters of a name or a topic that are shown."""
LONG_QUESTION = 300
"""Characters: a longer question tells something on the way."""


def refusal(decision: Decision) -> str:
    """The policy's own REFUSE. Whoever may be in danger also reads where help is."""
    own = next((REFUSALS[rule] for rule in decision.rules if rule in REFUSALS), REFUSAL)
    return f"{own} {HELP}" if in_danger(decision) and HELP not in own else own


def question(decision: Decision) -> str:
    """The policy's own CLARIFY: one question, which names the rival sources if there are any."""
    if in_danger(decision):
        return HELP_ASKED
    names = [f"“{name}”" for name in dict.fromkeys(map(as_data, decision.names)) if name]
    if len(names) >= 2:
        return f"Do you mean {', '.join(names[:-1])} or {names[-1]}?"
    return UNCLEAR if "unclear" in decision.rules else QUESTION


def as_data(name: str, signs: str = "+-") -> str:
    """A retrieved name or a caller's topic as data: letters, digits and a few signs, on one line. Nothing in
    it ends a quotation or opens a bracket."""
    kinds = ((sign, unicodedata.category(sign)) for sign in name if unicodedata.category(sign) != "Cf")
    kept = (sign if kind[0] in "LNM" or sign in signs else " " for sign, kind in kinds)
    return one_line("".join(kept))[:LONGEST_NAME].strip()


def lead(decision: Decision) -> str:
    """The sentences that open an answer of this class; "" where none are needed."""
    if decision.response_class is ResponseClass.CLARIFY or not in_danger(decision):
        return LEADS.get(decision.response_class, "")
    return f"{EMERGENCY if 'emergency' in decision.rules else DISTRESS} {HELP}"


def in_danger(decision: Decision) -> bool:
    """True if a rule says that somebody may be in danger."""
    return not DISTRESSED.isdisjoint(decision.rules)


# The contract of each class

HELPED = "helped"
"""The requirement without which nothing is sent."""
QUOTED = re.compile(r'“[^“”]*+”|«[^«»]*+»|"[^"\n]*+"')
"""Quotations: their hedges and questions are not the answer's."""
NAMED = re.compile(r"\bM(?:ay|AY)\b")
"""The month, a name, or a rule's MAY: no hedge."""
LABEL = re.compile(r"[,:]?[ \t]?[\[【][^\[\]【】#\n]{1,160}+(?<!\s)#[0-9A-Za-z][^\[\]【】\n]{0,300}+[\]】]")
"""A citation as `answering/citations.py` sends it, or a group of them."""


@dataclass(frozen=True, slots=True)
class WholeAnswer:
    """A whole answer, as the requirements examine it."""

    sentences: Sequence[Sentence]
    unhelped: Sequence[Sentence]
    """Those but the policy's own sentence about help."""
    words: Sequence[str]
    """With the marks between clauses."""
    cites: bool
    """True if it cites, or looks as if it did."""
    tokens: int
    hedges: int
    hedge_budget: int
    questions: int
    """To the user; of a CLARIFY, all of them."""
    params: Params
    danger: bool
    """True if a rule says that somebody may be in danger."""
    names: Sequence[str] = ()
    """Of rival sources."""

    @property
    def asking(self) -> int:
        """Sentences that are a question and nothing more."""
        return sum(map(asks_only, self.sentences))


@dataclass(frozen=True, slots=True)
class Requirement:
    """A condition that an answer of a class must meet."""

    says: str
    holds: Callable[[WholeAnswer], bool] = field(repr=False)


REQUIREMENTS: Mapping[str, Requirement] = {
    "answer.some": Requirement("It says something.", lambda answer: bool(answer.sentences)),
    "budget.tokens": Requirement(
        "At most token_target tokens.", lambda answer: answer.tokens <= answer.params.token_target
    ),
    "budget.hedges": Requirement(
        f"At most hedge_budget hedging phrases, for each {HEDGED_TOKENS} tokens unless the asker set it.",
        lambda answer: answer.hedges <= answer.hedge_budget,
    ),
    "budget.questions": Requirement(
        "At most question_budget questions; those of a FAQ or of a list are its own.",
        lambda answer: answer.questions <= answer.params.question_budget,
    ),
    "own.tokens": Requirement(
        f"At most token_target tokens, or {OWN} if that is more.",
        lambda answer: answer.tokens <= max(OWN, answer.params.token_target),
    ),
    "clarify.only_questions": Requirement(
        "Questions, and nothing else.", lambda answer: answer.asking == len(answer.sentences)
    ),
    "clarify.budget": Requirement(
        "At least one question, and at most question_budget (or one if that is 0).",
        lambda answer: 1 <= answer.asking <= allowed_questions(answer.params),
    ),
    "clarify.no_citation": Requirement("No citation.", lambda answer: not answer.cites),
    "clarify.names": Requirement(
        "Where rival sources were found: it names two of them at least.",
        lambda answer: not answer.names or len(named(answer.names, answer.words)) >= 2,
    ),
    "negotiate.named": Requirement(
        "It says that something is left out, or on what terms.",
        lambda answer: not mostly_latin(answer.words) or leaves_out(answer.words),
    ),
    "negotiate.no_recipe": Requirement(
        "No list of orders, and no orders with amounts.",
        lambda answer: not recipe(answer.sentences, answer.words),
    ),
    "redirect.named": Requirement(
        "It says whom to contact, or who helps better.",
        lambda answer: not mostly_latin(answer.words) or points(answer.sentences),
    ),
    HELPED: Requirement(
        "Where somebody may be in danger: it says where people help.",
        lambda answer: not answer.danger or helps(answer.sentences),
    ),
    "refuse.declines": Requirement(
        f"It declines, in at most {MOST_SENTENCES} sentences, and only regrets, gives a general reason, says"
        " where help is, or offers something else; in a language that can be judged (English, German,"
        " Spanish, French).",
        lambda answer: declines(answer.unhelped),
    ),
    "refuse.no_citation": Requirement("No citation.", lambda answer: not answer.cites),
    "refuse.no_instructions": Requirement(
        "No steps, orders in a row, code or amounts.",
        lambda answer: not instructs(answer.sentences, answer.words),
    ),
}
_FREE = ("answer.some", "budget.tokens", "budget.hedges", "budget.questions")
CONTRACTS: Mapping[ResponseClass, tuple[str, ...]] = {
    ResponseClass.COMPLY: (*_FREE, HELPED),
    ResponseClass.REDIRECT: (*_FREE, "redirect.named", HELPED),
    ResponseClass.CLARIFY: (
        "clarify.only_questions",
        "clarify.budget",
        "clarify.no_citation",
        "clarify.names",
        "own.tokens",
        HELPED,
    ),
    ResponseClass.NEGOTIATE: (*_FREE, "negotiate.named", "negotiate.no_recipe", HELPED),
    ResponseClass.REFUSE: (
        "answer.some",
        "refuse.declines",
        "refuse.no_citation",
        "refuse.no_instructions",
        "own.tokens",
        HELPED,
    ),
}
"""The requirements of each class."""


def check(
    text: str,
    decision: Decision,
    params: Params,
    *,
    cited: Sequence[str],
    tokens: int,
    limits: Limits | None = None,
) -> Check:
    """A whole answer against its class. `cited`: labels of its citations; `tokens`: o200k; `limits`: the
    caller's."""
    unquoted, everything = QUOTED.sub(" ", text), sentences(text)
    own = everything if unquoted == text else sentences(unquoted)
    asks = decision.response_class is ResponseClass.CLARIFY
    answer = WholeAnswer(
        sentences=everything,
        unhelped=sentences(text.replace(HELP, " ")) if HELP in text else everything,
        words=words_of(text),
        cites=bool(cited) or LABEL.search(text) is not None,
        tokens=tokens,
        hedges=hedges(words_of(NAMED.sub(";", unquoted))),
        hedge_budget=allowed_hedges(params, limits, tokens),
        questions=sum(one.asks for one in own) if asks else questions_to_user(own),
        params=params,
        danger=in_danger(decision),
        names=decision.names,
    )
    broken = tuple(
        name for name in CONTRACTS[decision.response_class] if not REQUIREMENTS[name].holds(answer)
    )
    return Check(not broken, broken, tokens=tokens, hedges=answer.hedges, questions=answer.questions)


def named(names: Sequence[str], words: Sequence[str]) -> list[str]:
    """Those of several names of which a text says a word that tells it from the others."""
    parts = [set(words_of(as_data(name))) for name in names]
    shared = set[str]().union(*(one & other for one, other in combinations(parts, 2)))
    own = [part - shared or part for part in parts]
    return [name for name, part in zip(names, own, strict=True) if not part.isdisjoint(words)]


def hedges_and_questions(sentence: str) -> tuple[int, int]:
    """(hedges, questions to the user) of a sentence on its way, quotations aside. Questions of a list count
    only once the whole list is there (`check`)."""
    own = QUOTED.sub(" ", sentence)
    asks = questions_to_user([one for one in sentences(own) if not one.bullet])
    return hedges(words_of(NAMED.sub(";", own))), asks


def allowed_hedges(params: Params, limits: Limits | None, tokens: int) -> int:
    """Hedges that an answer of so many tokens may hold; a limit of the caller's is for the whole answer."""
    own = limits is not None and limits.hedge_budget is not None
    return params.hedge_budget * (1 if own else max(1, ceil(tokens / HEDGED_TOKENS)))


# CLARIFY: questions only

LOOSE = "~"
"""Would open code where a question comes to stand at a line's begin."""
LEAD = re.compile(
    r"\b(?:tell me|let me know|share|specify|clarify|provide|send me|give me|answer|know|questions"
    r"|sag mir|sagen Sie mir|verrat\w* mir|wissen|mitteilen|angeben|dime|dígame|decirme|indicarme|saber"
    r"|dis[ -]moi|dites[ -]moi|me dire|préciser|savoir|dimmi|sapere)\b[^:?]{0,60}+[:?]$",
    re.IGNORECASE,
)
"""Under such a line, a list says what is asked."""
INDIRECT = re.compile(
    r"(?:(?:sure|ok|okay|of course|happy to help|first)[,!] ?)?(?:please |kindly )?"
    r"((?:let me know|tell me|specify|clarify|confirm|explain to me|describe) "
    r"(?=(?:which|what|who|whom|whose|where|when|why|how|whether|if you mean|if it)\b))",
    re.IGNORECASE,
)
"""A question in the form of a request."""
_TAGS = phrases({"tag": TABLES["questions"]["tag"]})
LINK = re.compile(r"://|\bwww\.|\]\(|<[^<>\s]")


def enforce_clarify_shape(text: str, params: Params, decision: Decision) -> str:
    """The questions of a model's text, at least one and at most `question_budget`: statements, orders, code,
    links, citations and very long questions are dropped, and lists stay lists. Without a question, the
    policy's own. Whoever may be in danger reads first where help is."""
    most = allowed_questions(params)
    kept = [one for one in as_questions(text) if asks_only(one)][:most]
    if not in_danger(decision) or helps(kept):
        return _written(kept) if kept else question(decision)
    return "\n".join([question(decision), _written(kept[: most - 1])]).strip()


def asked_enough(text: str, params: Params) -> bool:
    """True if an unfinished text already holds all the questions that may be kept."""
    return sum(map(asks_only, as_questions(text)[:-1])) >= allowed_questions(params)


def allowed_questions(params: Params) -> int:
    """How many questions a CLARIFY may hold: one even where the budget is 0, if routing forced the class."""
    return max(1, params.question_budget)


def as_questions(text: str) -> list[Sentence]:
    """The sentences of a model's text, as questions where something is asked without a mark: a list under
    "Could you tell me:", and "let me know which"."""
    found: list[Sentence] = []
    leads = False
    for one in sentences(LABEL.sub("", unthought(text))):
        leads = (leads and bool(one.bullet)) or (not one.bullet and LEAD.search(one.text) is not None)
        found.append(replace(one, text=_asked(one, listed=leads and bool(one.bullet))))
    return found


def unthought(text: str) -> str:
    """Without a model's reasoning (`<think>`); an unfinished one is dropped to the end."""
    if "<think" not in text and "</think" not in text:
        return text
    kept = text.rpartition("</think>")[2] if "</think>" in text else text
    return kept.partition("<think")[0].strip()


def asks_only(sentence: Sentence) -> bool:
    """True if it is a question to the user and nothing more."""
    text = sentence.text
    if not sentence.asks or len(text) > LONG_QUESTION or text.count("`") % 2 or LINK.search(text):
        return False
    row = words_of(text)
    return not (_tagged(row) or begins_with_order(row) or instructs([sentence], row))


def _asked(one: Sentence, *, listed: bool) -> str:
    """A sentence as the question that it stands for."""
    if one.asks or one.code:
        return one.text
    plain = one.text.rstrip(" .;:,!")
    if listed:
        return f"{plain}?"
    indirect = INDIRECT.match(one.text)
    return f"Could you {indirect[1].lower()}{plain[indirect.end() :]}?" if indirect else one.text


def _tagged(row: Sequence[str]) -> bool:
    """True if it is a statement that only ends like a question: "…, ok?"."""
    parts = list(clauses(row))
    while parts and not parts[-1]:
        parts.pop()
    if len(parts) < 2:
        return False
    return any(found.start == 0 and found.end == len(parts[-1]) for found in _TAGS.among(parts[-1]))


def _written(kept: Sequence[Sentence]) -> str:
    """Sentences on the lines on which they stood, a numbered list numbered anew."""
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
