"""A hand-written service of code: it records what it was asked, and answers or fails as told."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from app.db.code import CodeFile, CodeFiled, CodeKept, CodeListed, CodeOutcome, CodeRow
from app.errors import IbidError, Missing
from app.types import Scope

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
CODE_ID = "4e7c1b0a-6a52-5c1f-8f0e-2b9f6f1c7d3e"


@dataclass
class FakeCode:
    """Of /projects/{project}/code: holds one chunk, of one file."""

    fresh: bool = True
    error: IbidError | None = None
    asked: list[tuple[Scope, str, object]] = field(default_factory=list)

    def _asked(self, scope: Scope, project: str, what: object) -> None:
        self.asked.append((scope, project, what))
        if self.error:
            raise self.error

    async def put(self, scope: Scope, project: str, rows: Sequence[CodeRow]) -> list[tuple[str, bool]]:
        """All of them."""
        self._asked(scope, project, list(rows))
        return [(CODE_ID, self.fresh) for _ in rows]

    async def sync(self, scope: Scope, project: str, files: Sequence[CodeFile]) -> list[CodeFiled]:
        """All of them, two chunks each."""
        self._asked(scope, project, list(files))
        return [CodeFiled(file.path, CodeOutcome.ADDED, 2, 2) for file in files]

    async def files(
        self, scope: Scope, project: str, *, after: str, limit: int
    ) -> tuple[list[CodeListed], str | None]:
        """A page of one."""
        self._asked(scope, project, (after, limit))
        return [CodeListed("app/hello.py", "0" * 64, 2, "python", NOON)], "app/hello.py"

    async def remove_files(self, scope: Scope, project: str, paths: Sequence[str]) -> int:
        """All of them."""
        self._asked(scope, project, list(paths))
        return len(paths)

    async def clear(self, scope: Scope, project: str) -> int:
        """Two rows, if there are any."""
        self._asked(scope, project, None)
        return 2 if self.fresh else 0

    async def get(self, scope: Scope, project: str, name: str) -> CodeKept:
        """The one there is; of another tool, without a time."""
        self._asked(scope, project, name)
        if name != CODE_ID:
            raise Missing
        return CodeKept(CODE_ID, "app/hello.py", "python", "pass", {"start_line": 1}, project, None)

    async def remove(self, scope: Scope, project: str, name: str) -> None:
        """Gone."""
        await self.get(scope, project, name)
