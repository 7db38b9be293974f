"""Text as Postgres can hold it: UTF-8 without NUL. PDFs, models and clients produce both faults."""


def storable(text: str) -> str:
    """`text` with U+FFFD for NUL and for lone surrogates; halves of a pair are joined. Never raises."""
    if text.isascii() and "\0" not in text:
        return text
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return whole.replace("\0", "\ufffd")
