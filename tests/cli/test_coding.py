"""`ibid index code` through a running service: what a run puts, follows, and leaves alone."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.cli.coding import followed, gone, named, prefix
from app.cli.sync import Report
from app.cli.tree import Reason, Root, Skipped
from app.db.embedded import read_lock
from tests.cli.conftest import PROGRAM, Ibid, Running

FUNCTION = "def {0}(values):\n    '''Of {0}.'''\n" + "    total = sum(value for value in values)\n" * 6
KEY = "AKIA" + "ABCDEFGH12345678"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A small repository."""
    place = tmp_path / "repo"
    for name in ("one", "two", "three"):
        (place / "app").mkdir(parents=True, exist_ok=True)
        (place / "app" / f"{name}.py").write_text(FUNCTION.format(name))
    (place / "README.md").write_text("# Hello\n\nGreets who is there.\n")
    (place / ".env").write_text(f"KEY={KEY}\n")
    (place / ".git").mkdir()
    return place


@pytest.fixture
def client(held: Ibid, service: Running) -> Iterator[httpx.Client]:
    """Of the service that holds the folder."""
    lock = read_lock(held.data)
    assert lock
    head = {"Authorization": f"Bearer {lock.token}"}
    with httpx.Client(base_url=lock.url, headers=head, trust_env=False) as opened:
        yield opened


def index(held: Ibid, path: Path, project: str, *more: str) -> dict[str, Any]:
    """A run, as machines read it."""
    done = held("index", "code", path, "--project", project, "--json", *more)
    assert done.code == 0, done.err
    return dict(json.loads(done.out))


def paths(client: httpx.Client, project: str) -> list[str]:
    """The files that are kept."""
    return [item["path"] for item in client.get(f"/projects/{project}/code/files").json()["items"]]


def test_a_repository_is_followed(held: Ibid, service: Running, repo: Path, client: httpx.Client) -> None:
    """Put, left alone, renamed, changed, deleted, ignored: after each run what is kept is what is there."""
    first = index(held, repo, "follow")
    again = index(held, repo, "follow")
    (repo / "app" / "one.py").rename(repo / "app" / "first.py")
    (repo / "app" / "two.py").write_text(FUNCTION.format("two") + "\n\n" + FUNCTION.format("four"))
    (repo / "README.md").unlink()
    (repo / ".gitignore").write_text("three.py\n")
    after = index(held, repo, "follow")

    assert (first["added"], first["embedded"], first["skipped"]["secret by its name"]) == (4, 4, 1)
    assert (again["unchanged"], again["chunks"]) == (4, 0)
    assert (after["added"], after["changed"], after["deleted"]) == (2, 1, 3)
    assert after["embedded"] == 2  # the function that is new, and .gitignore: nothing for the name
    assert paths(client, "follow") == [".gitignore", "app/first.py", "app/two.py"]


def test_what_was_put_is_found(held: Ibid, service: Running, repo: Path, client: httpx.Client) -> None:
    """With its lines, and no secret: neither of a file nor inside of one."""
    (repo / "app" / "keys.py").write_text(f"def upload():\n    connect('{KEY}')\n")
    told = held("index", "code", repo, "--project", "find")
    body = {"message": "how does upload connect?", "session_id": "s", "project": "find", "sources": ["code"]}
    reply = client.post("/api/chat", json=body | {"stream": False}, timeout=60).json()

    assert told.out.splitlines()[:2] == [
        ".env: secret by its name",
        "app/keys.py: secrets written over: AWS key",
    ]
    assert "app/keys.py#L1-2" in [citation["label"] for citation in reply["citations"]]
    assert KEY not in json.dumps(reply) + told.out + told.err


def test_a_part_is_followed_alone(held: Ibid, service: Running, repo: Path, client: httpx.Client) -> None:
    """A folder or a file of a repository: paths are the repository's, and the rest stays as it is."""
    index(held, repo, "part")
    (repo / "README.md").unlink()
    (repo / "app" / "one.py").write_text(FUNCTION.format("changed"))
    (repo / "app" / "two.py").unlink()

    assert index(held, repo / "app" / "one.py", "part")["changed"] == 1
    assert index(held, repo / "app", "part")["deleted"] == 1
    assert paths(client, "part") == ["README.md", "app/one.py", "app/three.py"]


def test_two_folders_of_one_project(held: Ibid, service: Running, repo: Path, client: httpx.Client) -> None:
    """Each under a name of its own; neither deletes the other's."""
    index(held, repo, "both", "--under", "left")
    index(held, repo / "app", "both", "--under", "right/")

    assert len(paths(client, "both")) == 7
    assert {path.split("/")[0] for path in paths(client, "both")} == {"left", "right"}


def test_an_empty_folder_deletes_nothing(
    held: Ibid, service: Running, repo: Path, client: httpx.Client
) -> None:
    """A wrong path must not cost what is there: exit 1."""
    index(held, repo, "empty")
    (repo.parent / "nothing").mkdir()

    done = held("index", "code", repo.parent / "nothing", "--project", "empty")

    assert (done.code, len(paths(client, "empty"))) == (1, 4)
    assert "stays as it is" in done.err


def test_the_last_files_go_when_it_is_said(
    held: Ibid, service: Running, repo: Path, client: httpx.Client
) -> None:
    """All deleted: they stay, exit 1, until the flag says that it is meant."""
    index(held, repo, "last")
    for path in ("app/one.py", "app/two.py", "app/three.py", "README.md"):
        (repo / path).unlink()

    done = held("index", "code", repo, "--project", "last")
    kept = len(paths(client, "last"))
    pruned = index(held, repo, "last", "--prune")

    assert (done.code, kept) == (1, 4)
    assert "--prune" in done.err
    assert (pruned["deleted"], paths(client, "last")) == (4, [])


def test_folders_in_no_repository_stay_apart(
    held: Ibid, service: Running, tmp_path: Path, client: httpx.Client
) -> None:
    """Each under its own name, without a word; each is followed alone."""
    for name in ("left", "right"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.py").write_text(FUNCTION.format(name))
        (tmp_path / name / "b.py").write_text(FUNCTION.format("b"))
        index(held, tmp_path / name, "apart")
    (tmp_path / "left" / "b.py").unlink()

    assert index(held, tmp_path / "left", "apart")["deleted"] == 1
    assert index(held, tmp_path / "right" / "b.py", "apart")["unchanged"] == 1
    assert paths(client, "apart") == ["left/a.py", "right/a.py", "right/b.py"]


def test_another_repository_deletes_nothing(
    held: Ibid, service: Running, repo: Path, client: httpx.Client
) -> None:
    """Nor what was put by HTTP: most of what is there is not found, so it may be another's."""
    index(held, repo, "other")
    (repo.parent / "other" / ".git").mkdir(parents=True)
    (repo.parent / "other" / "README.md").write_text("# Another\n")

    done = held("index", "code", repo.parent / "other", "--project", "other", "--json")

    assert (done.code, json.loads(done.out)["kept"], json.loads(done.out)["deleted"]) == (1, 3, 0)
    assert len(paths(client, "other")) == 4


@pytest.mark.parametrize(
    ("seen", "lost", "followed_"),
    [
        ({"a": "1", "b": "2"}, ["c", "d"], True),
        ({"a": "1"}, ["b", "c", "d"], False),
        ({"x/a": "1", "x/b": "2", "x/c": "3", "x/d": "4"}, ["a", "b", "c", "d"], True),
        ({"a": "9", "b": "9", "c": "9"}, ["d"], True),
        ({}, ["a", "b", "c", "d"], False),
        ({"a": "1", "b": "2", "c": "3", "d": "4"}, [], True),
    ],
    ids=["half", "most", "renamed", "changed", "all", "nothing"],
)
def test_a_folder_is_known_by_what_is_still_in_it(
    seen: dict[str, str], lost: list[str], followed_: bool
) -> None:
    """By path, or by text."""
    assert followed({"a": "1", "b": "2", "c": "3", "d": "4"}, seen, lost) == followed_


@pytest.mark.parametrize("arguments", [["."], ["no-such-folder", "--project", "x"], [".", "--project", ""]])
def test_wrong_usage_is_2(held: Ibid, service: Running, arguments: list[str]) -> None:
    """No project, no such path, no name."""
    assert held("index", "code", *arguments).code == 2


def test_an_interrupted_run_goes_on_where_it_was(
    held: Ibid, service: Running, tmp_path: Path, client: httpx.Client
) -> None:
    """Ctrl-C: exit 130; what was put stays, and is not put again."""
    many = tmp_path / "many"
    many.mkdir()
    for at in range(400):
        (many / f"f{at}.py").write_text(f"def f{at}(): return {at}\n")
    heard = ["env", "--default-signal=INT"]  # a job in the background has it ignored
    command = [*heard, str(PROGRAM), "index", "code", str(many), "--project", "many"]
    running = subprocess.Popen(command, env=held.environment(), cwd=held.place, stderr=subprocess.PIPE)
    while running.poll() is None and not paths(client, "many"):
        time.sleep(0.05)
    os.kill(running.pid, signal.SIGINT)
    _, said = running.communicate(timeout=30)
    kept = client.get("/projects/many/code/files", params={"limit": 1000}).json()["items"]

    rest = index(held, many, "many")

    assert running.returncode == 130
    assert b"Traceback" not in said
    assert b"goes on from there" in said
    assert b" added" in said
    assert 0 < len(kept) < 400
    assert rest["unchanged"] >= len(kept)
    assert rest["added"] + rest["unchanged"] == 400


def test_what_stands_in_front_of_paths_is_plain() -> None:
    """However it is written."""
    assert [prefix(each) for each in ("", "a", "/a//b/", "./a", "a\\b")] == ["", "a/", "a/b/", "a/", "a/b/"]


def test_a_folder_in_no_repository_gives_its_name() -> None:
    """In signs that a path may have."""
    folders = [Path("/x/notes"), Path("/x/a\\b\n"), Path("/")]

    assert [named(Root(folder, "", alone=True)) for folder in folders] == ["notes", "a_b_n", ""]
    assert named(Root(Path("/x/notes"), "")) == ""


@pytest.mark.parametrize(
    ("unread", "left"),
    [([], ["a/b", "c"]), (["a"], ["c"]), (["c"], ["a/b"]), ([""], [])],
    ids=["nothing", "folder", "file", "all"],
)
def test_what_cannot_be_read_is_not_gone(unread: list[str], left: list[str]) -> None:
    """Nor what lies in such a folder."""
    report = Report()
    for path in unread:
        report.skip(Skipped(path, Reason.UNREADABLE))

    assert gone(["a/b", "c", "d"], {"d": ""}, report) == left
