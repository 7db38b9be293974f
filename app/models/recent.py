"""The vectors of the newest queries, so that asking again, or paging, embeds nothing. Kept by text; a space
has its own."""

from collections import OrderedDict

from app.domain.passage import Embedding


class Recent:
    """Least recently used first out. For one event loop; never awaits."""

    def __init__(self, limit: int = 1_024) -> None:
        self.limit = limit
        self.vectors: OrderedDict[str, Embedding] = OrderedDict()

    def get(self, text: str) -> Embedding | None:
        """The vector, if it is still there."""
        if text in self.vectors:
            self.vectors.move_to_end(text)
        return self.vectors.get(text)

    def keep(self, text: str, vector: Embedding) -> Embedding:
        """Remember it, and hand it on."""
        self.vectors[text] = vector
        if len(self.vectors) > self.limit:
            self.vectors.popitem(last=False)
        return vector
