"""A disk without room: told as such, nothing kept by halves, and no need to start anew."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from app.disk import free
from tests.fakes.checks import told
from tests.fakes.ledger import fat, pdf, word
from tests.fakes.process import Service, furnish, ibid, service

MIB = 1 << 20


@pytest.fixture
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A small disk of its own."""
    folder = tmp_path_factory.mktemp("disk")
    mount = ["mount", "-t", "tmpfs", "-o", "size=400m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a disk; each part is tested in tests/api and tests/db")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)  # noqa: S607 - wherever it lies


@contextmanager
def filled(disk: Path, left: int) -> Iterator[None]:
    """Within the block `left` bytes are free."""
    fill = disk / "fill"
    with fill.open("wb") as file:
        while (more := free(disk) - left) > 0:
            with suppress(OSError):  # the service writes meanwhile
                os.posix_fallocate(file.fileno(), fill.stat().st_size, more)
    try:
        yield
    finally:
        fill.unlink()


def test_a_full_disk_is_told_and_keeps_nothing(disk: Path) -> None:
    """Whether the file itself finds no room or Postgres does: 507, nothing is kept, questions are answered,
    and once there is room the same upload is taken."""
    with service(disk / "data") as running:
        assert running.upload("first.pdf", pdf(word(1))).status_code == 201
        for left in (MIB, 7 * MIB, 66 * MIB):
            with filled(disk, left):
                refused = running.upload("fat.pdf", fat("fat", 4 * MIB))
                assert (refused.status_code, refused.json()["type"]) == (507, "urn:ibid:problem:no-room")
                said = running.chat("What does the ferry carry?")
                assert (said["rag"]["reason"], said["degraded"]) == ("ok", [])
                assert list((running.folder / "tmp").iterdir()) == []
        assert [item["filename"] for item in running.client.get("/api/documents").json()["items"]] == [
            "first.pdf"
        ]
        assert running.upload("fat.pdf", fat("fat", 4 * MIB)).status_code == 201


def kept(running: Service, text: str) -> None:
    """A memory that is acknowledged."""
    assert running.client.post("/memories", json={"user_id": "u", "text": text}).status_code == 201


def recalled(running: Service, message: str) -> list[str]:
    """The texts that an answer about memories and corpus was given, and no source was lacking."""
    said = running.client.post("/rag/query", json={"user_id": "u", "message": message}).json()
    assert said["degraded"] == []
    return sorted(each["text"] for each in said["memory_used"])


NEARLY_FULL = (0, 16 << 10, MIB, 20 * MIB, 63 * MIB)
"""Bytes that are left: too few for each of the writers in turn."""


def test_a_write_to_memory_on_a_nearly_full_disk_is_refused_and_ends_nothing(disk: Path) -> None:
    """Qdrant's engine writes through mapped files, and would end the process. Reads go on, nothing that was
    refused is there, answers given meanwhile are in the record once there is room, as is what was kept."""
    with service(disk / "data") as running:
        kept(running, "The ferry carries apples.")
        assert running.client.post("/corpus/notes", json={"texts": ["Pears ripen in autumn."]}).is_success
        for left in NEARLY_FULL:
            with filled(disk, left):
                for turn in range(5):
                    memory = {"user_id": "u", "text": f"Plums of {left} and {turn}."}
                    told(running.client.post("/memories", json=memory), 507, "no-room")
                text = {"texts": [f"Quinces of {left}."]}
                told(running.client.post("/corpus/notes", json=text), 507, "no-room")
                told(running.client.post("/corpus/other", json=text), 507, "no-room")
                told(running.upload("fat.pdf", fat("fat", 2 * MIB)), 507, "no-room")
                said = running.chat(f"Hello, this is turn {left}.", session_id="turns")
                assert said["answer_id"]
                assert running.chat("What is there?", user_id="u", remember=True)["remembered"] == "failed"
                assert recalled(running, "What does the ferry carry?") == ["The ferry carries apples."]
                assert recalled(running, "When do pears ripen?") == ["Pears ripen in autumn."]
        kept(running, "The train carries cherries.")
        listed = running.client.get("/memories", params={"user_id": "u"}).json()["items"]
    with service(disk / "data") as again:
        assert sorted(each["text"] for each in listed) == [
            "The ferry carries apples.",
            "The train carries cherries.",
        ]
        assert "The train carries cherries." in recalled(again, "What does the train carry?")
        turns = again.client.get("/api/sessions/turns/turns").json()["items"]
        assert [each["content"] for each in turns if each["role"] == "user"] == [
            f"Hello, this is turn {left}." for left in NEARLY_FULL
        ]
        assert again.client.delete(f"/memories/{listed[0]['id']}").status_code == 204


def test_on_a_nearly_full_disk_something_may_still_be_deleted(disk: Path) -> None:
    """The reserve is kept for that."""
    with service(disk / "data") as running:
        kept(running, "The ferry carries apples.")
        memory = running.client.get("/memories", params={"user_id": "u"}).json()["items"][0]
        with filled(disk, 60 * MIB):  # Postgres may yet take 16 for the next segment of its log
            told(running.client.post("/memories", json={"user_id": "u", "text": "More."}), 507, "no-room")
            assert running.client.delete(f"/memories/{memory['id']}").status_code == 204
            assert recalled(running, "What does the ferry carry?") == []


@pytest.mark.parametrize("left", [0, 8 * MIB])
def test_a_start_on_a_full_disk_says_so(disk: Path, left: int) -> None:
    """In one line, and nothing is lost."""
    furnish(disk / "data")
    with filled(disk, left):
        done = ibid(disk / "data", "serve", "--port=0")
    assert done.code == 1
    said = done.err.splitlines()[-1]
    assert said.startswith(f"ibid: The disk of the data folder has {left >> 20} MiB free")
    assert str(disk / "data") in said
    assert "Traceback" not in done.err
    with service(disk / "data") as running:
        kept(running, "The ferry carries apples.")
