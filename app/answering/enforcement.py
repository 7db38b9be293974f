"""Enforces an answer's response class: which of the model's text is sent, and when.

CLARIFY and REFUSE are collected, checked and then sent; if the model fails, is late or breaks the class, the
policy's own text is sent. Other classes are sent sentence by sentence; the first sentence beyond the budget
of tokens, hedges or questions ends the answer (`length`). A first sentence that exceeds the tokens is sent;
one that exceeds hedges or questions is sent only if no later sentence fits. Help is added at the end if the
class requires it. o200k tokens. Raises `ModelError` for classes that are sent by sentence.
"""

import asyncio
import re
from bisect import bisect_right
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field, replace

from app.answer import Finish
from app.answering.citations import CitationFilter, closing
from app.answering.ruling import Ruling, written
from app.errors import ModelError
from app.models.base import Delta, ModelStream
from app.tasks import aside
from app.vantage import checks
from app.vantage.checks import HELP, HELPED, asked_enough, enforce_clarify_shape, unthought
from app.vantage.terms import Check, ResponseClass

PIECE_CHARACTERS = 2_000
"""Longest piece without an end in characters: a table, or a line of code."""
OPEN = 600
"""Characters that may stand between an end mark and the next sentence; further back no mark is sought."""
CITED = r"(?:\s*+[\[【][^\[\]【】\n]{1,200}+[\]】])*+"
ENDING = re.compile(
    rf"(?<![.!?…])[.!?…]++[\"'”’»)*_]*+{CITED}(?=\s++[^\s\[【])"
    rf"|(?<![。！？])[。！？]++[”’」』）]*+{CITED}(?=\s*+[^\s\[【])"
    r"|(?<=\S)(?=[^\S\n]*+\n\s*+[^\s\[【])"
)
# A mark, or blanks, that the next sentence has not followed yet, or a citation that is arriving.
WAITING = re.compile(
    r"(?:(?<![.!?…])[.!?…]++[\"'”’»)*_]*+|(?<![。！？])[。！？]++[”’」』）]*+)"
    rf"{CITED}\s*+(?:[\[【][^\[\]【】\n]{{0,200}}+)?\Z"
    r"|(?<=\S)\s++\Z"
)
WHOLE = re.compile(rf"(?:(?<![.!?…。！？])[.!?…。！？]++[\"'”’»)*_」』）]*+{CITED}|(?<=\S)[^\S\n]*+\n)\s*+\Z")
BRACKET = re.compile(r"[\[【]")
WORD = re.compile(r"[^\s(\[“\"'„«]*$")
SHORT = {
    *("e.g", "i.e", "cf", "dr", "mr", "mrs", "ms", "prof", "st", "vs", "approx", "fig", "vol", "ed", "eds"),
    *("al", "z.b", "d.h", "bzw", "nr", "ca", "vgl", "p.ex", "sr", "sra"),
}
"""Abbreviations whose full stop ends no sentence."""


class UnendedPiece(str):
    """A piece without a sentence's end."""

    __slots__ = ()

    def within(self, most: int, count: Callable[[str], int]) -> str:
        """As many words as have `most` tokens; of a longer single word, its beginning."""
        if count(self) <= most:
            return str(self)
        ends = [found.end() for found in re.finditer(r"\S+", self)]
        if not ends or count(self[: ends[0]]) > most:
            ends = list(range(1, ends[0] if ends else 0))
        return self[: ([0, *ends])[bisect_right(ends, most, key=lambda end: count(self[:end]))]]


def trimmed(sentence: str, *, first: bool) -> str:
    said = sentence.lstrip("\r\n") if first else sentence
    return UnendedPiece(said.rstrip()) if isinstance(sentence, UnendedPiece) else said


class SentenceBuffer:
    def __init__(self) -> None:
        self._held = ""
        self._seen = 0
        """Characters that were searched for an end."""
        self._ended = False
        """True if the last piece was a whole sentence."""

    def feed(self, text: str) -> list[str]:
        self._held += text
        found: list[str] = []
        while place := self._place():
            piece = self._held[:place]
            found.append(piece if self._ended else UnendedPiece(piece))
            self._held, self._seen = self._held[place:], 0
        return found

    def end(self) -> str:
        """The rest; an `UnendedPiece` if it follows one or nothing, and has no end itself."""
        rest, self._held, self._seen = self._held, "", 0
        return rest if self._ended or complete(rest) else UnendedPiece(rest)

    def _place(self) -> int:
        for found in ENDING.finditer(self._held, self._seen, PIECE_CHARACTERS + OPEN):
            if self._arriving(found.start()):
                break
            if found.end() <= PIECE_CHARACTERS and ends(self._held[: found.start()], found.group()):
                self._ended = True
                return found.end()
            self._seen = found.end()
        # Text after the last waiting mark is not scanned again.
        waiting = WAITING.search(self._held, max(self._seen, len(self._held) - OPEN))
        self._seen = waiting.start() if waiting else len(self._held)
        if len(self._held) <= PIECE_CHARACTERS:
            return 0
        self._ended = False
        blank = self._held.rfind(" ", 1, PIECE_CHARACTERS)
        return blank if blank > 0 else PIECE_CHARACTERS

    def _arriving(self, at: int) -> bool:
        """True if a mark at `at` may be within a citation that is arriving after an earlier mark."""
        first = max(self._seen, len(self._held) - OPEN)
        if not BRACKET.search(self._held, first, max(first, at)):
            return False
        waiting = WAITING.search(self._held, first)
        return waiting is not None and waiting.start() < at


def complete(text: str) -> bool:
    found = WHOLE.search(text)
    return found is not None and ends(text[: found.start()], found.group())


def ends(before: str, mark: str) -> bool:
    """False after an initial, the number of an item, or an abbreviation."""
    if not mark.startswith(".") or mark.startswith(".."):
        return bool(before.strip())
    found = WORD.search(before[-40:])
    word = found.group().casefold() if found else ""
    alone = word.isdecimal() and not before[: len(before) - len(word)].rstrip(" \t").strip("\n")
    return bool(word) and not (alone or shortened(word))


def shortened(word: str) -> bool:
    return word in SHORT or (len(word) == 1 and word.isalpha())


WHOLE_CLASSES = frozenset({ResponseClass.CLARIFY, ResponseClass.REFUSE})
"""Classes whose text is checked before any of it is sent."""
ANSWER_CHARACTERS = 20_000
"""Characters read of a whole answer: blanks are hardly any tokens."""
OFTEN, PART = 64, 8
"""A growing answer is checked after each so many characters more, and each such fraction of it."""
WHOLE_SECONDS = 10.0
"""Seconds for a model's response head, and again for its text."""
GAP = "\n\n"
"""Between the lead and the model's text."""
POLICY = "policy"
"""Model name of an answer that is the policy's own text."""

Opened = AbstractAsyncContextManager[ModelStream]


@dataclass(slots=True)
class Enforcement:
    ruling: Ruling
    labels: tuple[str, ...]
    """Labels of the packed passages."""
    count: Callable[[str], int]
    """o200k tokens of a text."""
    lead: str = ""
    """Sent first for a model that ignores response classes."""
    check: Check | None = None
    """The answer checked against its class; None before its end."""
    full: bool = False
    """True if a budget was reached and text was dropped."""
    _left: list[str] = field(default_factory=list)
    _spare: str = ""
    """The first sentence, if it exceeds hedges or questions; sent if nothing else is."""
    _tokens: int = 0
    _hedges: int = 0
    _questions: int = 0

    @property
    def whole(self) -> bool:
        """True if nothing is sent before everything is checked."""
        return self.ruling.decision.response_class in WHOLE_CLASSES

    @property
    def helps(self) -> bool:
        """True for an answer to a person in danger: it names help even if the model fails."""
        return not self.whole and checks.in_danger(self.ruling.decision)

    @property
    def begun(self) -> bool:
        return bool(self._left)

    @property
    def names_sources(self) -> bool:
        """True if a sentence of the model was sent; the policy's own texts have no sources."""
        return not self.whole and len(self._left) > bool(self.lead) and self._left != [HELP]

    def own(self) -> str:
        """The policy's text, for a class that is sent whole or that names help."""
        if self.helps:
            return checks.lead(self.ruling.decision)
        if (decision := self.ruling.decision).response_class is ResponseClass.REFUSE:
            return checks.refusal(decision)
        return enforce_clarify_shape("", self.ruling.params, decision)

    @asynccontextmanager
    async def over(self, opened: Opened) -> AsyncIterator[ModelStream]:
        """The model's stream, checked. If the model fails, the policy's text replaces an answer that is sent
        whole or names help."""
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(WHOLE_SECONDS if self.whole or self.helps else None):
                    stream = await stack.enter_async_context(opened)
            except (ModelError, TimeoutError):
                if not (self.whole or self.helps):
                    raise
                yield PolicyText(self)
                return
            yield EnforcedStream(stream, self, stack.aclose)

    @asynccontextmanager
    async def unasked(self) -> AsyncIterator[ModelStream]:
        yield PolicyText(self)

    def fits(self, sentence: str) -> str:
        """The part of the next sentence that may be sent, which is noted. Never blanks alone."""
        if not sentence.strip():
            return ""
        if self._spare and not self._left:
            sentence = type(sentence)(sentence.lstrip())
        gap = GAP if len(self._left) == bool(self.lead) == 1 else ""
        said = trimmed(sentence, first=bool(gap) or not self._left)
        whole = len(said)
        said = self._within_tokens(said)
        hedges, questions = checks.hedges_and_questions(said)
        tokens = self._tokens + self.count(said)
        if self._overspent(tokens, hedges, questions):
            if not self._left:
                self._spare = self._spare or said
                return ""
            said = ""
        self.full = len(said) < whole
        if not said:
            return ""
        self._left.append(gap + said)
        self._tokens, self._hedges, self._questions = (
            tokens,
            self._hedges + hedges,
            self._questions + questions,
        )
        return gap + said

    def _within_tokens(self, said: str) -> str:
        """As much as the budget of tokens leaves: a whole sentence, or the beginning of an unended piece."""
        most = self.ruling.params.token_target - self._tokens
        if isinstance(said, UnendedPiece):
            return said.within(most, self.count)
        return "" if self._left and self.count(said) > most else said

    def spare(self) -> str:
        """The first sentence if nothing was sent: an answer is never empty."""
        if self._left or not self._spare:
            return ""
        self._left.append(self._spare)
        return self._spare

    def _overspent(self, tokens: int, hedges: int, questions: int) -> bool:
        """True if the answer would exceed a budget with these additions; an addition of 0 never does."""
        params, limits = self.ruling.params, self.ruling.limits
        if hedges and self._hedges + hedges > checks.allowed_hedges(params, limits, tokens):
            return True
        return bool(questions) and self._questions + questions > params.question_budget

    def enough(self, text: str) -> bool:
        """True if more text cannot change the result: it is too long, or has all its questions."""
        plain, _ = self._plain(unthought(text))
        params = self.ruling.params
        if self.ruling.decision.response_class is ResponseClass.CLARIFY and asked_enough(plain, params):
            return True
        return len(text) > ANSWER_CHARACTERS or self.count(plain) > max(checks.OWN, params.token_target)

    async def end(self) -> str:
        """Check what was sent. Returns the help text if it is required and missing."""
        said = "".join(self._left)
        self.check = found = await aside(len(said), self._against, said)
        if HELPED not in found.broken:
            return ""
        self._left.append(f"{closing(said)}{GAP}{HELP}" if self._left else HELP)
        said = "".join(self._left)
        self.check = replace(await aside(len(said), self._against, said), broken=found.broken)
        return self._left[-1]

    def settle(self, text: str | None) -> str:
        """The text to send for a whole answer; None: no model was asked, use the policy's own text."""
        own = self.own()
        said = own if text is None else self._plain(unthought(text))[0].strip()
        asks = self.ruling.decision.response_class is ResponseClass.CLARIFY
        sent = enforce_clarify_shape(said, self.ruling.params, self.ruling.decision) if asks else said
        if not asks and HELPED in self._against(sent).broken:
            sent += f"{GAP}{HELP}"
        if not sent or not self._against(sent).held:
            sent = own
        broken = self._against(said).broken
        self.check = replace(self._against(sent), broken=broken, replaced=text is not None and sent == own)
        return sent

    def done(self) -> dict[str, object]:
        return {"class_check": asdict(self.check) if self.check else None}

    def kept(self) -> dict[str, object]:
        return written(replace(self.ruling, check=self.check))

    def _against(self, text: str) -> Check:
        plain, cited = self._plain(text)
        decision, params, limits = self.ruling.decision, self.ruling.params, self.ruling.limits
        return checks.check(plain, decision, params, cited=cited, tokens=self.count(plain), limits=limits)

    def _plain(self, text: str) -> tuple[str, list[str]]:
        seen = CitationFilter(self.labels)
        return seen.feed(text) + seen.end(), seen.cited


@dataclass(slots=True)
class EnforcedStream:
    """A model's stream that passes on only what the class allows."""

    stream: ModelStream
    enforcement: Enforcement
    close: Callable[[], Awaitable[None]]

    @property
    def model(self) -> str:
        return self.stream.model

    def __aiter__(self) -> AsyncIterator[Delta]:
        return self._whole() if self.enforcement.whole else self._sentences()

    async def _whole(self) -> AsyncIterator[Delta]:
        text, due, last = "", OFTEN, Delta(finish=Finish.STOP)
        try:
            async with asyncio.timeout(WHOLE_SECONDS):
                async for delta in self.stream:
                    text = ("" if delta.restart else text) + delta.text
                    last = Delta(finish=delta.finish or last.finish, usage=delta.usage or last.usage)
                    if len(text) >= due:
                        if await aside(len(text), self.enforcement.enough, text):
                            break
                        due = len(text) + max(OFTEN, len(text) // PART)
        except (ModelError, TimeoutError):
            text, last = "", Delta(finish=Finish.STOP)
        await self.close()
        yield Delta(await aside(len(text), self.enforcement.settle, text))
        yield last

    async def _sentences(self) -> AsyncIterator[Delta]:
        """Complete sentences while the budget lasts; also those complete when the model fails."""
        sentences, last = SentenceBuffer(), Delta(finish=Finish.STOP)
        for said in self._leaving([self.enforcement.lead]):
            yield Delta(said)
        try:
            async for delta in self.stream:
                last = Delta(finish=delta.finish or last.finish, usage=delta.usage or last.usage)
                for said in self._leaving(sentences.feed(delta.text)):
                    yield Delta(said)
                if self.enforcement.full:
                    break
        except ModelError:
            for said in await self._broken(sentences.end()):
                yield Delta(said)
            if not self.enforcement.helps:
                raise
            yield Delta(finish=Finish.STOP)
            return
        for delta in await self._ended(sentences.end(), last):
            yield delta

    def _leaving(self, pieces: Iterable[str]) -> Iterator[str]:
        for piece in pieces:
            if not self.enforcement.full and (said := self.enforcement.fits(piece)):
                yield said

    async def _broken(self, rest: str) -> list[str]:
        """The rest to send after the model failed: a complete sentence, then help."""
        said = list(self._leaving([rest.rstrip()])) if complete(rest) else []
        more = await self.enforcement.end() if self.enforcement.begun or self.enforcement.helps else ""
        return [*said, more] if more else said

    async def _ended(self, rest: str, last: Delta) -> list[Delta]:
        """The rest to send; the model's stream is closed before it."""
        left = [said.rstrip() for said in self._leaving([rest])] or [self.enforcement.spare()]
        if self.enforcement.full:
            await self.close()
        left.append(await self.enforcement.end())
        return [
            *map(Delta, filter(None, left)),
            Delta(finish=Finish.LENGTH) if self.enforcement.full else last,
        ]


@dataclass(slots=True)
class PolicyText:
    enforcement: Enforcement
    model: str = POLICY

    async def __aiter__(self) -> AsyncIterator[Delta]:
        yield Delta(self.enforcement.settle(None))
        yield Delta(finish=Finish.STOP)
