"""What a forked service has from the start (`process.py`): the program, and the vocabulary it loads first.

In a process of its own, so that a worker of the tests neither waits for it nor has its memory."""

import gc
from importlib import import_module

from app.retrieval.vocabulary import o200k

for name in ("serve", "doctor", "maintenance", "users", "keys", "eval"):
    import_module(f"app.cli.{name}")
o200k()
# Forks share what no collector touches.
gc.collect()
gc.freeze()
