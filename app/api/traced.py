"""What clients get of how a prompt was put together, and of its replay: as OpenAPI shows it, and as JSON.

By kinds, names, hashes and ids: a text that was shown stands in its source, if it is there still.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pydantic import BaseModel, Field

from app.answer import Block, Recipe
from app.answering.replay import Replayed

RULED = (
    *("response_class", "rules", "policy_version", "policy_sha256", "final", "params", "limits", "routing"),
    *("mix", "split", "threshold", "vantage_id", "class_check", "inspect_only"),
)
"""Of a ruling, what is shown; the descriptors are debug data."""


class RefReply(BaseModel):
    """Something of a store."""

    source: str
    id: str
    sha256: str = Field(description="Of its text then.")


class BlockReply(BaseModel):
    """A block of a prompt."""

    kind: str
    name: str = Field(description="Of instructions or a lens; of a turn who spoke.")
    sha256: str = Field(description="Of its text as the model saw it.")
    refs: list[RefReply]


class RecipeReply(BaseModel):
    """How the prompt was put together; its passages are the candidates that were packed."""

    form: str
    system: BlockReply
    before: list[BlockReply] = Field(description="Between the system text and the passages.")
    notes: list[BlockReply]
    turns: list[BlockReply]
    ranking: int = Field(description="Version of the ranking that chose the passages.")
    project: str | None = Field(description="In whose reach they were; null: no project was named.")


class ChangeReply(BaseModel):
    """One thing that is not as it was."""

    what: str = Field(
        description="`source <label>`, a block's kind with what it refers to, `ranking`, `policy`,"
        " `response_class`; `recipe`: there is nothing that the prompt could be put together from."
    )
    before: str | int | None
    after: str | int | None = Field(
        description="A hash, a version, a class. Null: it is gone. `not kept`: the record never had it, so"
        " that it cannot be compared (the oldest turns of a long `history`; the recipe of an old answer)."
        " `not asked`: who asked left before there was a prompt."
    )


class HashesReply(BaseModel):
    """A prompt's SHA-256, twice."""

    before: str = Field(description='As the model saw it; "": the model was not asked.')
    after: str | None = Field(description="Put together again from what is there; null: it cannot be.")


class ReplayReply(BaseModel):
    """What came of putting a prompt together again."""

    answer_id: str
    identical: bool = Field(description="The same prompt to the letter, and nothing else has changed.")
    changes: list[ChangeReply]
    prompt_sha256: HashesReply


def recipe(kept: Recipe | None) -> dict[str, Any] | None:
    """Without any text."""
    if kept is None:
        return None
    lists = {name: [block(item) for item in getattr(kept, name)] for name in ("before", "notes", "turns")}
    told = {"ranking": kept.ranking, "project": kept.project}
    return {"form": kept.form, "system": block(kept.system), **lists, **told}


def block(kept: Block) -> dict[str, Any]:
    """A block by its hash."""
    refs = [asdict(ref) for ref in kept.refs]
    return {"kind": str(kept.kind), "name": kept.name, "sha256": kept.sha256, "refs": refs}


def ruling(kept: Mapping[str, object] | None) -> dict[str, object] | None:
    """What /vantage decided."""
    return None if kept is None else {name: kept[name] for name in RULED if name in kept}


def replay(answer_id: str, found: Replayed) -> dict[str, Any]:
    """A replay."""
    return {
        "answer_id": answer_id,
        "identical": found.identical,
        "changes": [asdict(change) for change in found.changes],
        "prompt_sha256": {"before": found.before, "after": found.after},
    }
