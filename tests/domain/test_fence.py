"""Texts that end inside a fenced code block."""

import pytest

from app.answering.citations import closing


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("", ""),
        ("Text with `code`.", ""),
        ("```\na\n```", ""),
        ("```\na", "\n```\n"),
        ("```python", "\n```\n"),
        ("~~~~\na\n~~~", "\n~~~~\n"),
        ("```\na\n~~~", "\n```\n"),
        ("```\na\n``` b", "\n```\n"),
        ("``` a ``` b", ""),
        ("1. Run:\n   ```\n   a", "\n   ```\n"),
        ("- ```\n  a", "\n  ```\n"),
        ("> ```\n> a", "\n> ```\n"),
        ("Run:\n\n    ls -l", "\n\n"),
        ("Run:\n\n\tls -l\n", ""),
        ("```\na\n```\n```\nb", "\n```\n"),
    ],
)
def test_an_open_fence_is_closed_where_it_stands(text: str, closed: str) -> None:
    """With its own marks and as deep; nothing where none is open."""
    assert closing(text) == closed
    assert closing(text + closed) == ""
