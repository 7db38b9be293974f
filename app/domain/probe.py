"""Texts that speak to the machine and not of a person: instructions to a model, tests of the service.

They were said, and kept with `remember`, but are no memories: recalled, they would steer the answer. Only
what is plainly one is told; a person may well write about prompts and tests. Source: CONTRACT §2.2, seed 003
(4.3). Nothing here raises.
"""

import re
from collections.abc import Sequence

from app.domain.phrases import ENDS, LONGEST, Found, Phrases, words
from app.domain.tongue import words as wordset

SHORT = 8
"""Words of a text that tests and nothing else."""
HEAD = re.compile(
    r"^[ \t>#*]{0,8}(?:\[(?:system|user|assistant|context|inst)\]|system prompt[ \t]{0,4}:"
    r"|<\|[a-z_]{1,20}\|>|<</?sys>>|\[/?inst\])",
    re.IGNORECASE | re.MULTILINE,
)
"""A line as a prompt or a chat template writes it."""
ROLE = re.compile(
    r"^[ \t>#*]{0,8}(system|assistant|developer|user|human)[ \t]{0,4}:(.{0,80})", re.IGNORECASE | re.MULTILINE
)
"""Nor is this more than a word with a colon: people have sound systems, and assistants."""
SPEAKERS = frozenset({"system", "user", "human"})
"""With the assistant beside one of them it is a chat that was copied."""
ORDERS = Phrases(
    {
        "order": ""
        "you are|you're|you must|you will|you should|you shall|you have to|your task is|your role is"
        "|your job is|act as|pretend|ignore|disregard|forget|override|obey|answer|respond|reply|reveal"
        "|do not|don't|be|never reveal|never mention|always answer|always respond|always reply|from now on"
        "|du bist|antworte|tu es|réponds|eres|responde"
    }
)
"""What a role's line begins with where it is an instruction."""
POLITE = wordset("please now then and so but first just ok okay hey hi simply kindly also bitte por favor")
"""Words that an imperative may stand after."""
DUTY = wordset("to must should will shall would can could may have need are going now")
"""Words that make one of it after `you`: `I want you to`, `you are going to`."""
ON = wordset("that who which and for with named called designed trained verbatim exactly please")
"""Words that a whole phrase may go on with."""
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
_HIDDEN = ("your system prompt", "the system prompt", "your initial prompt")
_OFTEN_OURS = ("your instructions", "your prompt")
ASIDE, SHOWN, ASKED, TOLD, ROLEPLAY = "aside", "shown", "asked", "told", "role"
FIRST = frozenset({ASIDE, TOLD, ROLEPLAY})
"""Plain only where they open a clause: `I forget your rules` is somebody's own trouble."""
WHOLE = frozenset({ASKED, ROLEPLAY})
"""Plain only where nothing of another matter follows: `your prompt reply`."""
PROMPTY = Phrases(
    {
        ASIDE: "|".join(f"{aside} {which} {what}" for aside in _ASIDE for which in _WHICH for what in _WHAT)
        + "|ignore everything above|ignore the above|disregard the above|ignoriere alle vorherigen"
        "|ignoriere alle anweisungen|ignore toutes les instructions|ignora todas las instrucciones"
        "|ignora las instrucciones",
        SHOWN: "|".join(f"{show} {hidden}" for show in _SHOW for hidden in _HIDDEN) + "|end of system prompt",
        ASKED: "|".join(f"{show} {hidden}" for show in _SHOW for hidden in _OFTEN_OURS),
        TOLD: ""
        "you are chatgpt|you are gpt*|you are an ai|you are a language model"
        "|you are now dan|you are now in|act as dan|do anything now|jailbreak mode"
        "|as an ai language model|as a large language model|pretend you are an ai|pretend to be an ai"
        "|system override|begin system|new instructions :",
        ROLEPLAY: "you are a helpful assistant",
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
    if HEAD.search(text) or _dialogue(text[:LONGEST]) or " ".join(plain[:4]) in ALONE:
        return True
    return _only_tests(plain) or any(_plainly(said, found) for found in PROMPTY.among(said))


def is_test(query: str) -> bool:
    """Whether a question is about such texts: then they are what it looks for."""
    return is_probe(query) or bool(TESTS.names(query))


def _dialogue(text: str) -> bool:
    """Lines of roles that are a prompt's: one that gives an order, or two that speak with each other."""
    roles: set[str] = set()
    for line in ROLE.finditer(text):
        role = line[1].lower()
        roles.add(role)
        if role not in {"user", "human"} and _orders(words(line[2])):
            return True
    return "assistant" in roles and not SPEAKERS.isdisjoint(roles)


def _orders(said: Sequence[str]) -> bool:
    """Whether a line begins with an imperative."""
    start = next((at for at, word in enumerate(said) if word not in POLITE), 0)
    return any(found.start == start for found in ORDERS.among(said))


def _plainly(said: Sequence[str], found: Found) -> bool:
    """Whether a phrase stands where it is said to the machine, and not of something."""
    if not FIRST.isdisjoint(found.names) and not _opens(said, found.start):
        return False
    after = said[found.end] if found.end < len(said) else "."
    return WHOLE.isdisjoint(found.names) or after in ENDS or after in ON


def _opens(said: Sequence[str], start: int) -> bool:
    """Whether a clause begins there, but for polite words; or somebody is told to."""
    first = _back(said, start, POLITE)
    if first == 0 or said[first - 1] in ENDS:
        return True
    told = _back(said, first, DUTY)
    return 0 < told < first and said[told - 1] == "you"


def _back(said: Sequence[str], start: int, over: frozenset[str]) -> int:
    """Where the row of such words that ends there begins."""
    while start and said[start - 1] in over:
        start -= 1
    return start


def _only_tests(plain: list[str]) -> bool:
    """`test test 123`, `asdf`, `this is just a test`."""
    if not 0 < len(plain) <= SHORT:
        return False
    known = all(word in TESTING or word.isdecimal() for word in plain)
    return known and not PLAINLY.isdisjoint(plain)
