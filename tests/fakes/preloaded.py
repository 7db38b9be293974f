"""What a forked service has from the start (`process.py`): the program, and the two vocabularies it loads
first."""

import gc
from importlib import import_module

from app.text.vocabulary import o200k, spelling

for name in ("serve", "doctor", "maintenance", "users", "keys", "eval"):
    import_module(f"app.cli.{name}")
o200k()
spelling()
# Forks share the memory that no collector touches.
gc.collect()
gc.freeze()
