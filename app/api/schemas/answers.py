"""/answers: an answer with its trace, and the replay of its prompt.

Prompts are described by kinds, names, hashes and ids: the texts stay in their sources.
"""

from collections.abc import Sequence
from typing import Any, Literal, Self, TypeAlias

from pydantic import Field

from app.answer import Answer, Citation
from app.answering.meta import figures
from app.answering.replay import Replayed
from app.api.schemas import Body, Out, Page, Time, absent
from app.api.schemas.chat import (
    SPANS,
    VERDICT,
    CitationOut,
    CitationSpan,
    DegradedSource,
    Finished,
    RetrievalSummary,
    TokenUsage,
    Verdict,
)
from app.db.answers import AnswerLine
from app.errors import problem
from app.problems import Problem, problem_of

Rating: TypeAlias = Literal["up", "down"]
RATED = "What the reader rated it; null: not rated."
RULED = (
    *("response_class", "rules", "policy_version", "policy_sha256", "final", "params", "limits", "routing"),
    *("mix", "split", "threshold", "vantage_id", "class_check", "inspect_only"),
)
"""The parts of a ruling that are shown; the descriptors are debug data."""


class PromptRef(Out):
    """Something in a store that a part of a prompt was made from."""

    source: str = Field(description="The store or source.")
    id: str = Field(description="Its id there.")
    sha256: str = Field(description="SHA-256 of its text at the time.")


class PromptBlock(Out):
    """A part of a prompt."""

    kind: str = Field(description="What it is: instructions, a turn, cards, …")
    name: str = Field(description="Name of the instructions or the lens; for a turn, who spoke.")
    sha256: str = Field(description="SHA-256 of its text as the model saw it.")
    refs: list[PromptRef] = Field(description="What it was made from.")


class PromptRecipe(Out):
    """How the prompt was put together; its passages are the candidates that were packed."""

    form: str = Field(description="The form of the prompt.")
    system: PromptBlock = Field(description="The system text.")
    before: list[PromptBlock] = Field(description="Between the system text and the passages.")
    notes: list[PromptBlock] = Field(description="The request's notes.")
    turns: list[PromptBlock] = Field(description="The earlier turns.")
    ranking: int = Field(description="Version of the ranking that chose the passages.")
    project: str | None = Field(description="The project that limited the search; null: none was named.")


class CandidateOut(Out):
    """A passage that the search saw."""

    source: str = Field(description="The source it was found in.")
    id: str = Field(description="Its id within its source.")
    label: str = Field(description="Its label.")
    similarity: float | None = Field(description="Cosine in [-1, 1]; null: found by words alone.")
    score: float = Field(description="What candidates are ordered by.")
    verdict: Verdict = Field(description=VERDICT)
    boosts: dict[str, float] = Field(description="Factors by name; relevance times all of them is the score.")
    sha256: str = Field(description="SHA-256 of its text at the time.")
    relevance: float | None = Field(description="Score before boosts; null: nothing boosts this source.")
    created_at: Time | None = Field(description="When the passage was written; null: not known.")
    evidence: float | None = Field(
        description="What the threshold was compared with: the similarity, more or less by the share of the "
        "question's words; -1: unrelated; null: the similarity itself."
    )


class KeptAnswer(Out):
    """What both forms of a kept answer say: the trace, and the one beside a turn."""

    endpoint: str = Field(description="The endpoint that gave it.")
    model: str = Field(description="The chat model.")
    finish_reason: Finished | None = Field(description="How the answer ended; null: in an error.")
    cited: list[str] = Field(description="Labels that the answer cites, in order.")
    unknown: list[str] = Field(description="Labels that the model invented; they were removed from the text.")
    appended: bool = Field(
        description="The model cited nothing, so the most similar passages were named at the end."
    )
    spans: list[CitationSpan] = Field(description=f"{SPANS} Empty for answers of older versions.")
    rag: RetrievalSummary = Field(description="What retrieval found, and what of it the model saw.")
    notes: list[str] = Field(description="Notes on the retrieval, for people.")
    degraded: list[DegradedSource] = Field(description="What did not do its part.")
    ruling: dict[str, Any] | None = Field(description="Only of /vantage: what was decided, and by what.")
    rating: Rating | None = Field(description=RATED)


class AnswerOut(KeptAnswer):
    """An answer with its trace."""

    answer_id: str = Field(description="The answer's id.")
    question: str = Field(description="The message as it was sent.")
    answer: str = Field(description="The answer as it was sent.")
    created_at: Time = Field(description="When the question came.")
    citations: list[CitationOut] = Field(description="The passages that the model saw, in prompt order.")
    usage: TokenUsage = Field(description="Tokens of the prompt and the answer.")
    timings: dict[str, int] = Field(description="Milliseconds by stage.")
    prompt_sha256: str = Field(description='SHA-256 of the prompt; "": the model was not asked.')
    searched: str = Field(description="The search text: the question, or a follow-up with what it refers to.")
    sources: dict[str, Literal["exact", "engine"]] = Field(
        description="How each source was searched: by comparing every passage, or by its engine."
    )
    candidates: list[CandidateOut] = Field(description="Every passage that the search saw, best first.")
    recipe: PromptRecipe | None = Field(description="Null: the model was not asked, or the answer is old.")

    @classmethod
    def of(cls, answer: Answer, citations: Sequence[Citation]) -> Self:
        """With its trace; of a ruling only what is no debug data."""
        trace = answer.trace
        return cls(
            answer_id=answer.id,
            question=answer.question,
            answer=answer.text,
            model=answer.model,
            created_at=answer.created_at,
            citations=citations,
            usage=answer.usage,
            timings=answer.timings,
            prompt_sha256=answer.prompt_sha256,
            searched=trace.searched or answer.question,
            sources=trace.sources,
            candidates=trace.entries,
            recipe=answer.recipe,
            **facts(answer),
        )


def facts(answer: Answer) -> dict[str, Any]:
    """The fields of `KeptAnswer`, but the model's name."""
    trace, ruling = answer.trace, answer.ruling
    return {
        "endpoint": answer.endpoint,
        "finish_reason": answer.finish,
        "cited": answer.cited,
        "unknown": answer.unknown,
        "appended": answer.appended,
        "spans": answer.spans,
        "rag": figures(trace, len(trace.packed)),
        "notes": trace.notes(),
        "degraded": trace.degraded,
        "ruling": None if ruling is None else {name: ruling[name] for name in RULED if name in ruling},
        "rating": answer.rating,
    }


class NumberedCitation(CitationOut):
    """A passage that the model saw, with its number in the answer."""

    n: int | None = Field(
        description="Its number in the answer: its place in `cited`, from 1; null: not cited."
    )


class TurnAnswer(KeptAnswer):
    """An answer beside its turn, as it was streamed."""

    problem: Problem | None = Field(
        None, exclude_if=absent, description="Only if it ended in an error: which."
    )
    took_ms: int = Field(description="Milliseconds from the request to the end.")
    citations: list[NumberedCitation] = Field(description="The passages that the model saw, in prompt order.")

    @classmethod
    def of(cls, answer: Answer, citations: Sequence[Citation], instance: str) -> Self:
        """`instance` is the request's id."""
        numbers = {label: n for n, label in enumerate(answer.cited, start=1)}
        sent = answer.sent
        return cls(
            model=sent.model if sent and sent.model else answer.model,
            problem=problem_of(problem(*sent.error), instance) if sent and sent.error else None,
            took_ms=answer.timings.get("total", 0),
            citations=[
                NumberedCitation(**vars(CitationOut.model_validate(each)), n=numbers.get(each.label))
                for each in citations
            ],
            **facts(answer),
        )


class RatingRequest(Body):
    """A reader's rating of an answer."""

    rating: Literal["up", "down", "none"] = Field(description="`none`: an earlier one is taken back.")


class RatingReply(Out):
    """The rating as it was kept."""

    answer_id: str = Field(description="The answer's id.")
    rating: Rating | None = Field(description="The rating as it is now; null: none.")
    applied: int = Field(
        description="Votes that changed, on memories of the user who asked; 0: the answer used none, or this"
        " was no change."
    )


class AnswerLineOut(Out):
    """An answer in a list."""

    answer_id: str = Field(description="The answer's id.")
    created_at: Time = Field(description="When the question came.")
    endpoint: str = Field(description="The endpoint that gave it.")
    question: str = Field(description="The message as it was sent.")
    answer: str = Field(description="The answer as it was sent.")
    model: str = Field(description="The chat model.")
    finish_reason: Finished | None = Field(description="How the answer ended; null: in an error.")
    session_id: str | None = Field(description="Its session; null: none was named.")
    thread_id: str | None = Field(description="Its thread, if it is not the session's.")
    user_id: str | None = Field(description="Who asked; null: nobody was named.")
    cited: list[str] = Field(description="Labels that the answer cites, in order.")

    @classmethod
    def of(cls, line: AnswerLine) -> Self:
        return cls(
            answer_id=line.id,
            created_at=line.created_at,
            endpoint=line.endpoint,
            question=line.question,
            answer=line.text,
            model=line.model,
            finish_reason=line.finish,
            session_id=line.session_id,
            thread_id=line.thread_id,
            user_id=line.user_id,
            cited=line.cited,
        )


class AnswerPage(Page[AnswerLineOut]):
    """A page of answers, newest first."""


class PromptChange(Out):
    """One thing that has changed."""

    what: str = Field(
        description="`source <label>`, a block's kind with what it refers to, `ranking`, `policy`,"
        " `response_class`; `recipe`: nothing is left that the prompt could be put together from."
    )
    before: str | int | None = Field(description="What it was: a hash, a version, a class.")
    after: str | int | None = Field(
        description="What it is now. Null: it is gone. `not kept`: the record never had it, so it cannot be"
        " compared (the oldest turns of a long `history`; the recipe of an old answer). `not asked`: the"
        " client left before there was a prompt."
    )


class PromptHashes(Out):
    """A prompt's SHA-256, then and now."""

    before: str = Field(description='As the model saw it; "": the model was not asked.')
    after: str | None = Field(description="Put together again from what is stored; null: impossible.")


class ReplayReport(Out):
    """The result of putting a prompt together again."""

    answer_id: str = Field(description="The answer's id.")
    identical: bool = Field(description="The prompt is the same to the letter, and nothing else has changed.")
    changes: list[PromptChange] = Field(description="What has changed.")
    prompt_sha256: PromptHashes = Field(description="The prompt's hashes.")

    @classmethod
    def of(cls, answer_id: str, found: Replayed) -> Self:
        return cls(
            answer_id=answer_id,
            identical=found.identical,
            changes=found.changes,
            prompt_sha256=PromptHashes(before=found.before, after=found.after),
        )
