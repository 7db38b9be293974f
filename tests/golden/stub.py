"""The model servers of the golden record: answers that follow from the prompt alone, vectors from words.

A changed prompt shows, because every prompt is recorded; the answer itself says only what was asked and which
passages came first, so that it changes no oftener than they do.
"""

import re
from asyncio import StreamWriter
from dataclasses import dataclass

from tests.fakes.model import Fault, ModelServer
from tests.fakes.wire import Json

LABEL = re.compile(r"(?:From |\[)([^\[\]\n\"#:]{1,140}#[0-9A-Za-z-]{1,17})")
STEM = 4
"""Letters of a word that count for its meaning: `boil`, `boils`, `boiled` and `boiling` are one."""
EMPTY = frozenset(
    re.findall(
        r"\w+",
        "about after again also and another any are been but can could did does each for from had has "
        "have her here his how into its like many more most much not off once only other our out over per "
        "she should some such than that the their them then there these they this those through too was "
        "were what when where which while who why will with without would you your",
    )
)
"""Words that say nothing of what a text is about."""
JUDGE = "stub-judge"
"""The model of the feedback classifier."""


@dataclass
class StubModel(ModelServer):
    """Says what the script tells it to, else `answer`; in words, or in deltas of `split` characters."""

    says: str | None = None
    split: int | None = None

    def text(self, body: Json) -> str:
        """What is said to a request."""
        return answer(body) if self.says is None else self.says

    async def stream(self, body: Json, fault: Fault, writer: StreamWriter) -> bool:
        """The parent cuts its answer at white space; deltas of a fixed length go through `pieces`."""
        self.piece = rf"(?s).{{1,{self.split}}}" if self.split else r"\s*\S+\s*"
        return await super().stream(body, fault, writer)


class StubEmbedder(ModelServer):
    """A vector is fixed by the stems of a text's words of three letters and more: texts that share none of
    them have a similarity near 0."""

    def embeddings(self, body: Json, fault: Fault) -> Json:
        """As the parent, of what the texts are about."""
        inputs = [body["input"]] if isinstance(body["input"], str) else body["input"]
        return super().embeddings(body | {"input": [gist(text) for text in inputs]}, fault)


def gist(text: str) -> str:
    """The stems of the words that say what a text is about; of a text without any, the text."""
    words = [word for word in re.findall(r"\w{3,}", text.lower()) if word not in EMPTY]
    return " ".join(word[:STEM] for word in words) or text


def answer(body: Json) -> str:
    """Names the question and cites the first two passages that the prompt shows."""
    messages = [(str(each.get("role")), str(each.get("content"))) for each in body.get("messages", [])]
    asked = next((text for role, text in reversed(messages) if role == "user"), "")
    if body.get("model") == JUDGE:
        return "positive" if "better" in asked else "negative" if "worse" in asked else "neutral"
    shown = [label for role, text in messages if role == "system" for label in LABEL.findall(text)]
    labels = list(dict.fromkeys(shown))
    said = f'To "{" ".join(asked.split())[:60]}" the answer stands here'
    if not labels:
        return f"{said}: nowhere."
    more = f" More of it is there [{labels[1]}]." if len(labels) > 1 else ""
    return f"{said} [{labels[0]}].{more}"
