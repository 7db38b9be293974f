"""Text as Postgres can hold it: UTF-8 without NUL. PDFs, models and clients produce both faults."""

import math


def storable(text: str) -> str:
    """`text` with U+FFFD for NUL and for lone surrogates; halves of a pair are joined. Never raises."""
    if text.isascii() and "\0" not in text:
        return text
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return whole.replace("\0", "\ufffd")


def storable_json(value: object) -> object:
    """JSON that a `jsonb` column takes: its texts storable, null for numbers that JSON does not have."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable(str(key)): storable_json(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [storable_json(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
