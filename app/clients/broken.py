"""What the embedded engine's faults mean: bare `Exception`s and panics, told apart by their words.

`engine_faults` goes around every call: what the engine refuses is `RetrievalError(rejected=True)`, all else
`Broken`, which says whether the files may be to blame.
"""

from types import TracebackType

from app.domain.errors import RetrievalError

REFUSALS = (
    "Vector dimension error",
    "Not existing vector name",
    "Validation failed",
    "Wrong input",
    "Bad request",
)
"""How its words begin when the request is at fault, and not the files."""
SCARCE = ("os error 12)", "os error 23)", "os error 24)", "os error 28)", "os error 122)")
"""Memory, handles, room on the disk: the files are not to blame."""
FULL = SCARCE[-2:]
"""Those of the disk."""


class Broken(Exception):
    """The engine failed. `files`: its files may be what is wrong; `full`: the disk has no room."""

    def __init__(self, said: str) -> None:
        super().__init__(said)
        self.files = not any(code in said for code in SCARCE)
        self.full = any(code in said for code in FULL)


class EngineFaults:
    """Around every call of the engine."""

    def __enter__(self) -> None:
        """Nothing to set up."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is ValueError or (kind is Exception and str(error).startswith(REFUSALS)):
            raise RetrievalError("unavailable", rejected=True) from error
        if kind is not None and (kind is Exception or kind.__name__ == "PanicException"):
            raise Broken(str(error)) from error


engine_faults = EngineFaults()
