"""Examples and shapes of code, held against the schemas."""

from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter

from app.api import coded
from app.db.code import CodeFiled, CodeKept, CodeListed, CodeOutcome
from tests.fakes.coding import NOON


@pytest.mark.parametrize(
    ("schema", "example"),
    [
        (coded.CodeWrittenReply, coded.WRITTEN),
        (coded.CodeWrittenReply, coded.REPLACED),
        (coded.CodeReply, coded.CODE),
        (coded.CodeFilesReply, coded.FILED),
        (coded.CodeFileList, coded.FILES),
        (coded.ClearedReply, coded.CLEARED),
    ],
)
def test_examples_of_replies_are_of_their_schemas(schema: type[BaseModel], example: Any) -> None:
    """Field for field."""
    assert set(schema.model_validate(example).model_dump()) == set(example)


def test_examples_of_bodies_are_taken() -> None:
    """One chunk, several, files."""
    for example in coded.POSTED.values():
        TypeAdapter[Any](coded.CodeRows).validate_python(example["value"])
    for example in coded.PUT.values():
        coded.CodeFilesBody.model_validate(example["value"])


def test_what_is_sent_is_of_the_schemas() -> None:
    """They are told by name alone, and not validated on their way out; another tool's row lacks most."""
    bare = CodeKept("x", None, None, None, None, None, None)
    assert coded.CodeReply.model_validate(coded.code(bare)).chunk_text is None
    listed = coded.listed(CodeListed("a.py", "0", 1, None, NOON))
    assert coded.CodeListedReply.model_validate(listed).indexed_at == NOON
    filed = coded.filed(CodeFiled("a.py", CodeOutcome.CHANGED, 2, 1))
    assert coded.CodeFiledReply.model_validate(filed).outcome == "changed"
    assert coded.written("x", fresh=True)["outcome"] == "created"
