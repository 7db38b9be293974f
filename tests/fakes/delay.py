"""Something that goes on beside a test."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def meanwhile(work: Callable[[], object]) -> Iterator[threading.Thread]:
    """Run `work` in a thread beside the block, and wait for it at the end."""
    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield thread
    finally:
        thread.join(60)
        assert not thread.is_alive()
