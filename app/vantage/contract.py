"""What an answer of each class may hold, clause by clause, and whether a text does (`class_check`).

Read off the text alone: sentences, phrases of tables, figures that the caller counted (o200k tokens, labels
that left as citations). Linear in the text. `refusal` is the policy's own. Source: CONTRACT §3. Nothing here
raises.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import ceil

from app.domain.phrases import Phrases
from app.vantage.clarify import LABEL, allowed, asks
from app.vantage.declining import MOST, declines
from app.vantage.hedges import NAMED, hedges
from app.vantage.listed import counted
from app.vantage.rules import DISTRESSED
from app.vantage.sentence import Sentence, said, sentences
from app.vantage.signposts import helps, points
from app.vantage.steps import instructs, recipe
from app.vantage.terms import Check, Decision, Limits, Params, ResponseClass
from app.vantage.wording import HELP, plain, refusal

__all__ = ["CLAUSES", "CONTRACTS", "check", "refusal"]

HELPED = "helped"
"""The clause that nothing is sent without."""
EACH = 100
"""Tokens that the policy's hedge budget is for."""
OWN = 120
"""Tokens that a refusal or a question may have, however low the token target: the policy's own have fewer."""
QUOTED = re.compile(r'“[^“”]*+”|«[^«»]*+»|"[^"\n]*+"')
"""What somebody else says: its hedges and questions are not the answer's."""
LEFT = {
    "left": (
        "leave out|leaving out|left out|leaves out|omit*|skip the|skipping the|withh*|hold back|holding back"
        "|not go into|won't go|not going into|without going into|without the details|without details"
        "|set aside|setting aside|steer clear|stay away from|stick to|stay with|keep to"
        "|limit myself|confine myself"
        "|in general terms|in broad terms|only in general|at a high level|no specifics|not cover|not include"
        "|not included|not give|don't give|do not give|not share|don't share|do not share|not provide"
        "|don't provide|do not provide|not describe|don't describe|not spell out|not list|not explain"
        "|can't|cannot|can not|won't|will not|not able to|unable to|i'd rather not|i decline"
        "|only help with|only the|only cover|only a part|only part|part of this only|as long as you"
        "|provided that|provided you|on condition|on the condition"
        "|lasse ich|lass ich|weglass*|auslass*|ausgelassen|weggelassen|nicht eingehen|gehe ich nicht"
        "|kann ich nicht|kann ich dir nicht|kann ich ihnen nicht|ich kann nicht|werde ich nicht"
        "|nenne ich nicht"
        "|gebe ich nicht|keine genauen|keine einzelheiten|keine anleitung|nur allgemein|im allgemeinen"
        "|no puedo|no voy a|omito|omitiré|omitir|dejo fuera|dejaré fuera|sin entrar en|en términos generales"
        "|ne peux pas|ne vais pas|ne donnerai pas|ne donne pas|j'omets|j'omettrai|laisse de côté"
        "|sans entrer dans|en termes généraux|dans les grandes lignes|non posso|tralascio|ometto"
    ),
    "": "can't wait|cannot wait|can't go wrong|can't miss|can't stress",
}
"""Words by which an answer says what it leaves out, or on what terms. Read in Latin letters alone."""
_LEFT = Phrases(LEFT)


@dataclass(frozen=True, slots=True)
class Seen:
    """An answer as the clauses look at it."""

    told: Sequence[Sentence]
    said: Sequence[str]
    labels: bool
    """Whether it cites, or looks as if it did."""
    tokens: int
    hedges: int
    most: int
    """Hedges that it may hold."""
    questions: int
    params: Params
    danger: bool
    """Whether somebody may be: a rule said so."""
    plain: Sequence[Sentence]
    """Its sentences but for the policy's own that says where help is."""
    names: Sequence[str] = ()
    """Of rival sources."""


CLAUSES: Mapping[str, str] = {
    "answer.some": "It says something.",
    "budget.tokens": "At most token_target tokens.",
    "budget.hedges": f"At most hedge_budget hedging phrases, for each {EACH} tokens unless the asker set it.",
    "budget.questions": "At most question_budget questions; those of a FAQ or of a list are its own.",
    "own.tokens": f"At most token_target tokens, or {OWN} if that is more.",
    "clarify.only_questions": "Questions, and nothing else.",
    "clarify.budget": "At least one question, and at most question_budget (or one if that is 0).",
    "clarify.no_citation": "No citation.",
    "clarify.names": "Where rival sources were found: it names two of them at least.",
    "negotiate.named": "It says that something is left out, or on what terms.",
    "negotiate.no_recipe": "No list of orders, and no orders with amounts.",
    "redirect.named": "It says whom to contact, or who helps better.",
    HELPED: "Where somebody may be in danger: it says where people help.",
    "refuse.declines": (
        f"It declines, in at most {MOST} sentences, and only regrets, gives a general reason, says where help"
        " is, or offers something else; in a language that can be judged (English, German, Spanish, French)."
    ),
    "refuse.no_citation": "No citation.",
    "refuse.no_instructions": "No steps, orders in a row, code or amounts.",
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
"""The clauses of each class."""
_BROKEN: Mapping[str, Callable[[Seen], bool]] = {
    "answer.some": lambda seen: not seen.told,
    "budget.tokens": lambda seen: seen.tokens > seen.params.token_target,
    "budget.hedges": lambda seen: seen.hedges > seen.most,
    "budget.questions": lambda seen: seen.questions > seen.params.question_budget,
    "own.tokens": lambda seen: seen.tokens > max(OWN, seen.params.token_target),
    "clarify.only_questions": lambda seen: not all(map(asks, seen.told)),
    "clarify.budget": lambda seen: not 1 <= sum(map(asks, seen.told)) <= allowed(seen.params),
    "clarify.no_citation": lambda seen: seen.labels,
    "clarify.names": lambda seen: bool(seen.names) and len(named(seen.names, seen.said)) < 2,
    "negotiate.named": lambda seen: (
        _latin(seen) and not any("left" in found.names for found in _LEFT.among(seen.said))
    ),
    "redirect.named": lambda seen: _latin(seen) and not points(seen.told),
    HELPED: lambda seen: seen.danger and not helps(seen.told),
    "negotiate.no_recipe": lambda seen: recipe(seen.told, seen.said),
    "refuse.declines": lambda seen: not declines(seen.plain),
    "refuse.no_citation": lambda seen: seen.labels,
    "refuse.no_instructions": lambda seen: instructs(seen.told, seen.said),
}


def check(
    text: str,
    decision: Decision,
    params: Params,
    *,
    cited: Sequence[str],
    tokens: int,
    limits: Limits | None = None,
) -> Check:
    """A whole answer against its class. `cited`: labels that left; `tokens`: o200k, as the caller counted;
    `limits`: the asker's."""
    told, own = sentences(text), QUOTED.sub(" ", text)
    mine = told if own == text else sentences(own)
    asked = decision.response_class is ResponseClass.CLARIFY
    seen = Seen(
        told=told,
        said=said(text),
        labels=bool(cited) or LABEL.search(text) is not None,
        tokens=tokens,
        hedges=hedges(said(NAMED.sub(";", own))),
        most=hedged(params, limits, tokens),
        questions=sum(one.asks for one in mine) if asked else counted(mine),
        params=params,
        danger=bool(DISTRESSED.intersection(decision.rules)),
        plain=sentences(text.replace(HELP, " ")) if HELP in text else told,
        names=decision.names,
    )
    broken = tuple(clause for clause in CONTRACTS[decision.response_class] if _BROKEN[clause](seen))
    return Check(not broken, broken, tokens=tokens, hedges=seen.hedges, questions=seen.questions)


def named(names: Sequence[str], words: Sequence[str]) -> list[str]:
    """Those of several names of which a text says a word that tells it from the others."""
    parts = [set(said(plain(name))) for name in names]
    shared = set[str]().union(*(one & other for one, other in combinations(parts, 2)))
    own = [part - shared or part for part in parts]
    return [name for name, part in zip(names, own, strict=True) if not part.isdisjoint(words)]


def spent(sentence: str) -> tuple[int, int]:
    """(hedges, questions to the asker) of a sentence on its way, quotations aside. Questions of a list count
    only once the whole list is there (`check`)."""
    own = QUOTED.sub(" ", sentence)
    asks = counted([one for one in sentences(own) if not one.bullet])
    return hedges(said(NAMED.sub(";", own))), asks


def hedged(params: Params, limits: Limits | None, tokens: int) -> int:
    """Hedges that an answer of so many tokens may hold."""
    own = limits is not None and limits.hedge_budget is not None
    return params.hedge_budget if own else params.hedge_budget * max(1, ceil(tokens / EACH))


def _latin(seen: Seen) -> bool:
    """Whether a text is in Latin letters, for the most part."""
    return sum(word.isascii() for word in seen.said) * 2 > len(seen.said)
