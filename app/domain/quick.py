"""Values that are made by the hundred for each answer, at a third of the price of their own constructor.

A frozen dataclass sets each field through `object.__setattr__`. Here a value is written as its twin that is
not frozen and has the same slots, and then becomes the frozen kind: equal, hashed and refusing changes like
any other (docs/decisions/0061). No `__post_init__` is run. Nothing here raises.
"""

from collections.abc import Callable
from dataclasses import fields, make_dataclass
from typing import Any, ParamSpec, TypeVar

Given = ParamSpec("Given")
Made = TypeVar("Made")


def quick(kind: Callable[Given, Made]) -> Callable[Given, Made]:
    """The constructor of a dataclass with slots. All fields are to be given, in their order."""
    names = [(each.name, object) for each in fields(kind)]  # type: ignore[arg-type] # as all callers give
    draft: Any = make_dataclass("Draft", names, slots=True, eq=False, repr=False)

    def made(*values: Given.args, **_: Given.kwargs) -> Made:
        one: Any = draft(*values)
        one.__class__ = kind
        value: Made = one
        return value

    return made
