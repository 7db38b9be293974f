"""An embedding space, and how its cosines become similarities that mean the same in every space.

Cosines are in [-1, 1]. Unrelated texts do not lie near 0 in every space (bundled models: .4 and more), so
the space's floor is taken out (CONTRACT §0). Pure; raises nothing.
"""

from dataclasses import dataclass

LEAST_FLOOR = 0.15
"""A floor below it counts as 0: the space is comparable as it is."""


@dataclass(frozen=True, slots=True)
class Space:
    """What every stored vector belongs to. Vectors of two spaces are never compared."""

    name: str
    """`<model>@<dim>`, recorded with every vector."""
    model: str
    dim: int
    floor: float
    """Median raw cosine of unrelated texts, measured when the space is first used."""


def space_name(model: str, dim: int) -> str:
    """`text-embedding-3-large@1536`."""
    return f"{model}@{dim}"


def similarity(cosine: float, floor: float) -> float:
    """A raw cosine as a similarity in [-1, 1]: unrelated texts near 0, equal ones 1."""
    if floor >= LEAST_FLOOR:
        cosine = (cosine - floor) / (1 - floor) if floor < 1 else 0.0
    return max(-1.0, min(1.0, cosine))
