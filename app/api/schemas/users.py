"""/users: the export of everything that is kept about a user, and the receipt of an erasure."""

from typing import Any, Literal, Self

from pydantic import ConfigDict, Field

from app.api.schemas import Out, Page, Time
from app.db.users import Receipt


class UserExport(Out):
    """Everything that is kept about one user."""

    user_id: str = Field(description="The user.")
    exported_at: Time = Field(description="When the export began.")
    notes: list[str] = Field(description="Data about the user in other services, which is not included.")
    holdings: dict[str, list[dict[str, Any]]] = Field(
        description="Rows as they are stored, by store. Documents have the address of their file."
    )
    complete: bool = Field(description="Always true, and last: a download that broke off lacks it.")


class ErasureFiles(Out):
    """Files that may still contain erased rows, unread, until they are rewritten."""

    compacted: bool = Field(description="No file of this service contains anything of the user.")
    at: Time | None = Field(description="When they were last rewritten for this user.")
    by: Time | None = Field(
        description="When they will be rewritten; null: they are, or only `pending` is left. Ask again."
    )
    pending: list[str] = Field(
        description="Files that contain something for longer. `chroma` with more than 50,000 vectors,"
        " or with a scope beyond EXACT_MAX_MB: numbers and ids, no text; it is rewritten once it is smaller."
    )
    external: list[str] = Field(description="Servers whose files this service cannot rewrite.")


class ErasureReceipt(Out):
    """What was erased. A user about whom nothing was kept gets zeros."""

    model_config = ConfigDict(extra="forbid")

    user_id: str = Field(description="The user.")
    erased_at: Time = Field(description="When it was done.")
    counts: dict[str, int] = Field(description="Rows and documents that were deleted, by store.")
    files: ErasureFiles = Field(description="What is left in files.")
    engines: list[str] = Field(
        description="Search engines that have yet to delete the user's entries. No search finds them any"
        " more; ask again."
    )
    cached_until: Time | None = Field(
        description="Until then the cache that replicas share may contain results; nobody is given them."
    )
    notes: list[str] = Field(
        description="What is not erased, because others keep it: the outside memory service's votes and"
        " activity (MEMORY_SERVICE_URL)."
    )

    @classmethod
    def of(cls, receipt: Receipt) -> Self:
        return cls(
            user_id=receipt.user_id,
            erased_at=receipt.erased_at,
            counts=receipt.counts,
            files=ErasureFiles.model_validate(receipt),
            engines=receipt.engines,
            cached_until=receipt.cached_until,
            notes=receipt.notes,
        )


class ChangeOut(Out):
    """Something new, changed or gone."""

    kind: Literal["memory", "document", "session", "answer"] = Field(description="What it is.")
    id: str = Field(description="Its id.")
    change: Literal["new", "changed", "gone"] = Field(
        description="`gone`: deleted; perhaps it was written after `since` too."
    )
    at: Time = Field(description="When.")
    session_id: str | None = Field(description="Of documents, answers and sessions; null: of all sessions.")
    title: str | None = Field(
        description="File name, question, or the beginning of a memory; null: it is gone."
    )


class ChangePage(Page[ChangeOut]):
    """A page of changes, oldest first."""

    until: Time = Field(
        description="Pass it as `since` the next time: nothing is missed, but a change may be repeated."
    )
