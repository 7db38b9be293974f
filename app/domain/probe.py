"""Texts that speak to the machine and not of a person: instructions to a model, tests of the service.

They were said, and kept with `remember`, but are no memories: recalled, they would steer the answer. Only
what is plainly one is told; a person may well write about prompts and tests. Source: CONTRACT §2.2, seed 003
(4.3). Nothing here raises.
"""

import re

from app.domain.phrases import ENDS, Phrases, words
from app.domain.tongue import words as wordset

SHORT = 8
"""Words of a text that tests and nothing else."""
HEAD = re.compile(
    r"^[ \t>#*]{0,8}(?:\[(?:system|user|assistant|context|inst)\]"
    r"|(?:system|system prompt|assistant|developer)[ \t]{0,4}:"
    r"|<\|[a-z_]{1,20}\|>|<</?sys>>|\[/?inst\])",
    re.IGNORECASE | re.MULTILINE,
)
"""A line as a prompt or a chat template writes it."""
_ASIDE = ("ignore", "disregard", "forget", "override", "bypass")
_WHICH = (
    "all previous", "all prior", "all of your", "all the previous", "all your", "any previous", "previous",
    "prior", "earlier", "the above", "the previous", "your previous", "your prior", "your", "my previous",
)  # fmt: skip
_WHAT = ("instructions", "instruction", "prompts", "prompt", "rules", "directives", "guidelines", "messages")
_SHOW = (
    "reveal",
    "print",
    "show me",
    "show",
    "repeat",
    "output",
    "tell me",
    "what is",
    "what's",
    "leak",
    "display",
)
_HIDDEN = (
    "your system prompt",
    "the system prompt",
    "your instructions",
    "your initial prompt",
    "your prompt",
)
PROMPTY = Phrases(
    {
        "aside": "|".join(f"{aside} {which} {what}" for aside in _ASIDE for which in _WHICH for what in _WHAT)
        + "|ignore everything above|ignore the above|disregard the above|ignoriere alle vorherigen"
        "|ignoriere alle anweisungen|ignore toutes les instructions|ignora todas las instrucciones"
        "|ignora las instrucciones",
        "shown": "|".join(f"{show} {hidden}" for show in _SHOW for hidden in _HIDDEN),
        "told": ""
        "you are chatgpt|you are gpt*|you are a helpful assistant|you are an ai|you are a language model"
        "|you are now dan|you are now in|act as dan|do anything now|developer mode|jailbreak mode"
        "|as an ai language model|as a large language model|pretend you are an ai|pretend to be an ai"
        "|end of system prompt|system override|begin system|new instructions :",
    }
)
ALONE = frozenset(
    {"system prompt", "the system prompt", "your system prompt", "prompt injection", "jailbreak"}
)
"""Nothing else said: a knock at the door."""
TESTING = wordset(
    "test tests testing tested tester a ab abc abcd asdf asdfasdf qwerty foo bar baz foobar lorem ipsum ping"
    " pong probe probing check hello world mic one two three message query please ignore this is just only"
    " the my memory of dummy sample xyz"
)
PLAINLY = wordset("test tests testing asdf asdfasdf qwerty foobar foo ping probe lorem dummy mic")
"""One of these must be among them."""
TESTS = Phrases(
    {
        "test": ""
        "this is a test|just a test|only a test|just testing|i'm testing|i am testing|test query|test message"
        "|test memory|test memories|test the memory|testing the memory|memory test|recall test|memory probe"
        "|retrieval test|test retrieval|testing retrieval|probe|probes|probing|prompt injection|system prompt"
        "|system prompts|jailbreak*"
    }
)


def is_probe(text: str) -> bool:
    """Whether a text is a prompt, or tests the service and says nothing."""
    said = words(text)
    plain = [word for word in said if word not in ENDS]
    if HEAD.search(text) or " ".join(plain[:4]) in ALONE:
        return True
    return _only_tests(plain) or next(PROMPTY.among(said), None) is not None


def is_test(query: str) -> bool:
    """Whether a question is about such texts: then they are what it looks for."""
    return is_probe(query) or bool(TESTS.names(query))


def _only_tests(plain: list[str]) -> bool:
    """`test test 123`, `asdf`, `this is just a test`."""
    if not 0 < len(plain) <= SHORT:
        return False
    known = all(word in TESTING or word.isdecimal() for word in plain)
    return known and not PLAINLY.isdisjoint(plain)
