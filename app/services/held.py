"""An answer held to its class: what of the model's words may leave, when, and whether they kept the checks.

CLARIFY and REFUSE are taken whole, checked, and sent; where the model fails, is late or breaks the class,
the policy's own text is sent. The others leave by sentence: the one that would exceed the budget of tokens,
hedges or questions ends the answer (`length`), but the first always leaves. Help is named last if nothing
else named it. Tokens: o200k. Raises `ModelError` for classes that leave by sentence (CONTRACT §3).
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TypeVar

from app.domain.answer import Finish
from app.domain.citation import CitationFilter
from app.domain.errors import ModelError
from app.domain.fence import closing
from app.domain.ports import Delta, ModelStream
from app.services.ruling import Ruling, checked, written
from app.services.sentence import Cut, Sentences, complete, trimmed
from app.vantage import checks
from app.vantage.checks import HELP, HELPED, enforce_clarify_shape, satisfied, unthought
from app.vantage.terms import Check, ResponseClass

WHOLE = frozenset({ResponseClass.CLARIFY, ResponseClass.REFUSE})
"""Classes whose text is checked before any of it is sent."""
MOST = 20_000
"""Characters of a whole answer that are read, whatever they are: blanks are hardly any tokens."""
OFTEN, PART = 64, 8
"""A whole answer under way is looked at after so many characters more, and after such a part of it."""
WHOLE_SECONDS = 20.0
"""What a model has for the head of such an answer, and again for its text."""
GAP = "\n\n"
"""Between the lead and the model's words."""
AT_ONCE = 1_000
"""Characters that are checked on the loop: a millisecond."""
POLICY = "policy"
"""The model of an answer that is the policy's own text."""

T = TypeVar("T")
Opened = AbstractAsyncContextManager[ModelStream]


@dataclass(slots=True)
class Held:
    """What was decided on an answer, and the answer as it comes."""

    ruling: Ruling
    labels: tuple[str, ...]
    """Of the packed passages."""
    count: Callable[[str], int]
    """o200k tokens of a text."""
    lead: str = ""
    """Said first, where the model knows nothing of classes."""
    check: Check | None = None
    """The answer against its class; None: it has not ended."""
    full: bool = False
    """Whether something did not leave, or not all of it: a budget is spent."""
    _left: list[str] = field(default_factory=list)
    _tokens: int = 0
    _hedges: int = 0
    _questions: int = 0

    @property
    def whole(self) -> bool:
        """Whether nothing leaves before everything is checked."""
        return self.ruling.decision.response_class in WHOLE

    @property
    def begun(self) -> bool:
        """Whether anything has left."""
        return bool(self._left)

    @property
    def names_sources(self) -> bool:
        """Whether it is told with its sources: questions and refusals are not, nor is a mere lead."""
        return not self.whole and (not self.lead or len(self._left) > 1)

    def own(self) -> str:
        """The policy's text of a class that is taken whole."""
        if (decision := self.ruling.decision).response_class is ResponseClass.REFUSE:
            return checks.refusal(decision)
        return enforce_clarify_shape("", self.ruling.params, decision)

    @asynccontextmanager
    async def over(self, opened: Opened) -> AsyncIterator[ModelStream]:
        """The model's stream as it may leave; if it fails, of a whole answer the policy's text."""
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(WHOLE_SECONDS if self.whole else None):
                    stream = await stack.enter_async_context(opened)
            except (ModelError, TimeoutError):
                if not self.whole:
                    raise
                yield Said(self)
                return
            yield Gate(stream, self, stack.aclose)

    @asynccontextmanager
    async def unasked(self) -> AsyncIterator[ModelStream]:
        """The policy's text, where there is no model to ask."""
        yield Said(self)

    def fits(self, sentence: str) -> str:
        """What of one more may leave; it is noted. The first always may, and blanks alone never."""
        if not sentence.strip():
            return ""
        gap = GAP if len(self._left) == bool(self.lead) == 1 else ""
        said = trimmed(sentence, first=bool(gap) or not self._left)
        most, whole = self.ruling.params.token_target - self._tokens, len(said)
        if isinstance(said, Cut):
            said = said.within(most, self.count)
        elif self._left and self.count(said) > most:
            said = ""
        hedges, questions = checks.spent(said)
        tokens = self._tokens + self.count(said)
        if self._left and self._overspent(tokens, hedges, questions):
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

    def _overspent(self, tokens: int, hedges: int, questions: int) -> bool:
        """Whether an answer of so many tokens with that much more would exceed a budget. What adds nothing to
        it does not."""
        params, limits = self.ruling.params, self.ruling.limits
        if hedges and self._hedges + hedges > checks.allowed_hedges(params, limits, tokens):
            return True
        return bool(questions) and self._questions + questions > params.question_budget

    def enough(self, text: str) -> bool:
        """Whether what is to come changes nothing: it is too long, or asks all that it may ask."""
        plain, _ = self._plain(unthought(text))
        params = self.ruling.params
        if self.ruling.decision.response_class is ResponseClass.CLARIFY and satisfied(plain, params):
            return True
        return len(text) > MOST or self.count(plain) > max(checks.OWN, params.token_target)

    async def end(self) -> str:
        """What has left is checked. Where help is, said last if nothing said it and it has to be said."""
        self.check = found = await aside(self._against, "".join(self._left))
        if HELPED not in found.broken:
            return ""
        self._left.append(f"{closing(''.join(self._left))}{GAP}{HELP}" if self._left else HELP)
        self.check = replace(await aside(self._against, "".join(self._left)), broken=found.broken)
        return self._left[-1]

    def settle(self, text: str | None) -> str:
        """What is sent of a whole text; None: the policy's own, since no model was asked."""
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
        """What `done` tells."""
        return {"class_check": checked(self.check) if self.check else None}

    def kept(self) -> dict[str, object]:
        """What is kept with the answer."""
        return written(replace(self.ruling, check=self.check))

    def _against(self, text: str) -> Check:
        """A text against the class's checks."""
        plain, cited = self._plain(text)
        decision, params, limits = self.ruling.decision, self.ruling.params, self.ruling.limits
        return checks.check(plain, decision, params, cited=cited, tokens=self.count(plain), limits=limits)

    def _plain(self, text: str) -> tuple[str, list[str]]:
        """A text without the citations that must not leave, and those that stay."""
        seen = CitationFilter(self.labels)
        return seen.feed(text) + seen.end(), seen.cited


@dataclass(slots=True)
class Gate:
    """A model's stream, through which only leaves what may. Keeps `ports.ModelStream`."""

    stream: ModelStream
    held: Held
    close: Callable[[], Awaitable[None]]

    @property
    def model(self) -> str:
        """The model that answers."""
        return self.stream.model

    def __aiter__(self) -> AsyncIterator[Delta]:
        """Whole, or by sentence."""
        return self._whole() if self.held.whole else self._sentences()

    async def _whole(self) -> AsyncIterator[Delta]:
        """One piece, when all of it is there, or nothing to come counts."""
        text, due, last = "", OFTEN, Delta(finish=Finish.STOP)
        try:
            async with asyncio.timeout(WHOLE_SECONDS):
                async for delta in self.stream:
                    text += delta.text
                    last = Delta(finish=delta.finish or last.finish, usage=delta.usage or last.usage)
                    if len(text) >= due:
                        if await aside(self.held.enough, text):
                            break
                        due = len(text) + max(OFTEN, len(text) // PART)
        except (ModelError, TimeoutError):
            text, last = "", Delta(finish=Finish.STOP)
        await self.close()
        yield Delta(await aside(self.held.settle, text))
        yield last

    async def _sentences(self) -> AsyncIterator[Delta]:
        """Each when it is complete, while the budget lasts; also what is complete when the model fails."""
        sentences, last = Sentences(), Delta(finish=Finish.STOP)
        for said in self._leaving([self.held.lead]):
            yield Delta(said)
        try:
            async for delta in self.stream:
                last = Delta(finish=delta.finish or last.finish, usage=delta.usage or last.usage)
                for said in self._leaving(sentences.feed(delta.text)):
                    yield Delta(said)
                if self.held.full:
                    break
        except ModelError:
            for said in await self._broken(sentences.end()):
                yield Delta(said)
            raise
        for delta in await self._ended(sentences.end(), last):
            yield delta

    def _leaving(self, pieces: Iterable[str]) -> Iterator[str]:
        """What of them may leave."""
        for piece in pieces:
            if not self.held.full and (said := self.held.fits(piece)):
                yield said

    async def _broken(self, rest: str) -> list[str]:
        """What still leaves where the model failed: a sentence that was whole. What left is checked."""
        said = list(self._leaving([rest.rstrip()])) if complete(rest) else []
        more = await self.held.end() if self.held.begun else ""
        return [*said, more] if more else said

    async def _ended(self, rest: str, last: Delta) -> list[Delta]:
        """What is still to leave; the model's stream is closed first where there is more."""
        left = [said.rstrip() for said in self._leaving([rest])]
        if self.held.full:
            await self.close()
        left.append(await self.held.end())
        return [*map(Delta, filter(None, left)), Delta(finish=Finish.LENGTH) if self.held.full else last]


async def aside(work: Callable[[str], T], text: str) -> T:
    """What comes of a text; of a long one off the loop."""
    return await asyncio.to_thread(work, text) if len(text) > AT_ONCE else work(text)


@dataclass(slots=True)
class Said:
    """The policy's own text as a stream. Keeps `ports.ModelStream`."""

    held: Held
    model: str = POLICY

    async def __aiter__(self) -> AsyncIterator[Delta]:
        """In one piece."""
        yield Delta(self.held.settle(None))
        yield Delta(finish=Finish.STOP)
