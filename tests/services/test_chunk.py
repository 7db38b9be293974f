"""Chunks of code on their way into the record."""

from app.db.code import CodeFile, CodeOutcome, CodeRow, CodeVector, CutFile
from app.services.code import covered, filed, remembered

KEY = "ibid_" + "k" * 8 + "_" + "0123456789abcdef" * 3


def test_vectors_of_the_path_itself_go_first() -> None:
    """A file with the same text elsewhere brings its vectors along for what has none of its own."""
    own = CodeVector("a.py", "1", "x = 1", b"own")
    others = [CodeVector("b.py", "2", "x = 1", b"theirs"), CodeVector("b.py", "2", "y = 2", b"moved")]

    known = remembered([own, *others], {"2": "a.py"})

    assert known["a.py", "x = 1"] == b"own"
    assert known["a.py", "y = 2"] == b"moved"
    assert known["b.py", "y = 2"] == b"moved"


def test_facts_lose_their_secrets_too() -> None:
    """Also words in a list; what is no text stays."""
    [row] = covered([CodeRow("a.py", None, f"key = '{KEY}'", {"doc": [KEY, 3], "line": 4})])

    assert KEY not in row.chunk_text
    assert row.chunk_metadata == {"doc": ["***", 3], "line": 4}


def test_what_was_not_embedded_counts_nothing() -> None:
    """A file whose vectors were all there is told with none made."""
    file = CodeFile("a.py", "x = 1")

    done = filed([(file, [])], [CodeOutcome.CHANGED], {}, {"a.py": CutFile("python", ())})

    assert done["a.py"].outcome is CodeOutcome.CHANGED
    assert done["a.py"].embedded == 0
