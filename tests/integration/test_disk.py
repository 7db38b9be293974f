"""A disk without room: told as such, nothing kept by halves, and no need to start anew."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.fakes.ledger import fat, pdf, word
from tests.fakes.process import service

MIB = 1 << 20


@pytest.fixture
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A small disk of its own."""
    folder = tmp_path_factory.mktemp("disk")
    mount = ["mount", "-t", "tmpfs", "-o", "size=112m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a disk; each part is tested in tests/api and tests/stores")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)  # noqa: S607 - wherever it lies


@contextmanager
def filled(disk: Path, left: int) -> Iterator[None]:
    """Within the block `left` bytes are free."""
    space = os.statvfs(disk)
    fill = disk / "fill"
    with fill.open("wb") as file:
        file.truncate(0)
        for _ in range((space.f_bavail * space.f_frsize - left) // MIB):
            file.write(bytes(MIB))
    try:
        yield
    finally:
        fill.unlink()


def test_a_full_disk_is_told_and_keeps_nothing(disk: Path) -> None:
    """Whether the file itself finds no room or Postgres does: 507, nothing is kept, questions are answered,
    and once there is room the same upload is taken."""
    with service(disk / "data") as running:
        assert running.upload("first.pdf", pdf(word(1))).status_code == 201
        for left in (MIB, 7 * MIB):
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
