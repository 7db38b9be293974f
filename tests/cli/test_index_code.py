"""`ibid index code` through a running service: which files of a repository are taken, against git itself,
and what a run puts, follows, and leaves alone."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.cli import client as requests
from app.cli.client import Answered
from app.cli.index import CodeFiles, Report, visible
from app.cli.repository import FileText, Root, Skipped, SkipReason, file_text, read, rooted, walk
from app.db.code import CodeFile
from app.db.folder import read_lock
from app.ingest.syntax import language_of
from tests.cli.conftest import PROGRAM, Ibid, Running

FUNCTION = "def {0}(values):\n    '''Of {0}.'''\n" + "    total = sum(value for value in values)\n" * 6
KEY = "AKIA" + "ABCDEFGH12345678"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
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

    def put() -> list[object]:
        found: list[object] = client.get("/projects/many/code/files", params={"limit": 1000}).json()["items"]
        return found

    first = 0  # files of the first request, whose answer has come when there are more
    while running.poll() is None and not 0 < first < len(put()):
        first = first or len(put())
        time.sleep(0.05)
    os.kill(running.pid, signal.SIGINT)
    _, said = running.communicate(timeout=30)
    kept = put()

    rest = index(held, many, "many")

    assert running.returncode == 130
    assert b"Traceback" not in said
    assert b"goes on from there" in said
    assert b" added" in said
    assert 0 < len(kept) < 400
    assert rest["unchanged"] >= len(kept)
    assert rest["added"] + rest["unchanged"] == 400


@dataclass
class Service:
    """Keeps files by path; refuses those it is told to, and is busy as often as it is told to."""

    files: dict[str, str] = field(default_factory=dict)
    refused: tuple[str, ...] = ()
    busy: int = 0
    asked: list[httpx.Request] = field(default_factory=list)

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        if self.busy:
            self.busy -= 1
            return httpx.Response(503, json={"title": "A store is not available", "status": 503})
        return getattr(self, request.method.lower())(request)  # type: ignore[no-any-return]

    def get(self, request: httpx.Request) -> httpx.Response:
        after = request.url.params.get("cursor", "")
        names = [name for name in sorted(self.files) if name > after]
        items = [{"path": name, "sha256": CodeFile(name, self.files[name]).sha256} for name in names[:2]]
        return httpx.Response(200, json={"items": items, "next": names[1] if len(names) > 2 else None})

    def put(self, request: httpx.Request) -> httpx.Response:
        files = json.loads(request.content)["files"]
        if any(file["path"] in self.refused for file in files):
            return httpx.Response(422, json={"title": "A field", "detail": "no", "status": 422})
        self.files |= {file["path"]: file["text"] for file in files}
        told: list[dict[str, Any]] = [
            {"path": file["path"], "outcome": "added", "chunks": 2, "embedded": 1} for file in files
        ]
        return httpx.Response(200, json={"items": told})

    def delete(self, request: httpx.Request) -> httpx.Response:
        names = request.url.params.get_list("path")
        return httpx.Response(200, json={"removed": len([self.files.pop(name) for name in names])})


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Service:
    """With nothing in it, and nobody waits."""
    monkeypatch.setattr(requests, "PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(requests, "BUSY_SECONDS", 0.5)
    return Service()


@pytest.fixture
async def files(stub: Service) -> AsyncIterator[CodeFiles]:
    """Of a project whose name must be quoted."""
    transport = httpx.MockTransport(stub.answer)
    async with httpx.AsyncClient(transport=transport, base_url="http://ibid") as client:
        yield CodeFiles(client, "a b", "src/")


async def test_a_busy_service_is_asked_again(files: CodeFiles, stub: Service) -> None:
    """For a while; then the run ends, and the next goes on from there."""
    stub.busy = 7
    assert await files.put([FileText("a", "a")], Report()) == 1
    stub.busy = 1_000_000_000
    with pytest.raises(Answered):
        await files.put([FileText("b", "b")], Report())

    assert sorted(stub.files) == ["src/a"]


def test_a_report_tells_what_a_person_should_know() -> None:
    """Secrets and what cannot be read by name; the rest in figures."""
    report = Report(unchanged=1_000, added=1, chunks=3, embedded=2)
    for reason in (SkipReason.SECRET, SkipReason.IGNORED, SkipReason.IGNORED):
        report.skip(Skipped("x", reason))

    assert report.told == [{"path": "x", "reason": "secret by its name"}]
    assert report.summary(2.0) == (
        "1,001 files: 1 added, 1,000 unchanged; 3 chunks, 2 embedded in 2.0 s (1/s); "
        "left out: 2 ignored by git, 1 secret by its name"
    )
    assert not report.failed
    assert report.as_json(2.0)["skipped"] == {"secret by its name": 1, "ignored by git": 2}
    assert json.loads(json.dumps(report.as_json(2.0)))["seconds"] == 2.0


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a b/é.py", "a b/é.py"),
        ("\x1b[2Ja.py", r"\x1b[2Ja.py"),
        ("a\nb\x9b.py", r"a\nb\x9b.py"),
        ("a\u202eyp.b", r"a\u202eyp.b"),
        ("a\udcff.py", r"a\udcff.py"),
    ],
)
def test_names_are_shown_and_not_obeyed(name: str, shown: str) -> None:
    """A terminal gets signs alone, on one line."""
    report = Report()
    report.tell(name, "no")

    assert visible(report.told[0]["path"]) == shown


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with things of every kind."""
    place = tmp_path / "repo"
    for name in ("app/main.py", "README.md", ".env", "photo.jpg", "node_modules/a/index.js", "venv/lib/b.py",
                 "venv/pyvenv.cfg", "package-lock.json", "page.min.js", ".git/config",
                 "bad\nname.py"):  # fmt: skip
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text("x = 1\n")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.py").write_text("x = 1\n")
    (place / "link").symlink_to(tmp_path / "outside")
    (place / "link.py").symlink_to(tmp_path / "outside" / "secret.py")
    os.mkfifo(place / "pipe.py")
    return place


def reasons(checkout: Path) -> Counter[str]:
    return Counter(str(each.reason) for each in walk(Root(checkout, "")) if isinstance(each, Skipped))


def test_code_and_texts_are_taken_and_nothing_else(checkout: Path) -> None:
    """Neither what tools fill in, nor secrets, nor what a link leads to."""
    found = [each for each in walk(Root(checkout, "")) if isinstance(each, str)]

    assert found == ["README.md", "app/main.py"]
    assert reasons(checkout) == {
        SkipReason.FOLDER: 3,
        SkipReason.SECRET: 1,
        SkipReason.LINK: 2,
        SkipReason.MADE: 2,
        SkipReason.UNKNOWN: 2,
        SkipReason.NAME: 1,
    }


@pytest.mark.parametrize(
    ("path", "root", "part"),
    [
        ("repo", "repo", ""),
        ("repo/app", "repo", "app"),
        ("repo/app/main.py", "repo", "app/main.py"),
        ("repo/node_modules/a", "repo/node_modules/a", ""),
        ("outside", "outside", ""),
        ("outside/secret.py", "outside", "secret.py"),
    ],
)
def test_paths_begin_where_the_repository_does(checkout: Path, path: str, root: str, part: str) -> None:
    """A folder that git ignores, or that is in none, is its own root."""
    (checkout / ".gitignore").write_text("node_modules/\n")
    place = checkout.parent

    alone = root != "repo"
    assert rooted(place / path) == Root(place / root, part, alone=alone)


def test_secrets_are_written_over_before_anything_is_sent() -> None:
    """Which kinds is told, and where."""
    assert file_text("a.py", f"key = '{KEY}'\n".encode()) == FileText("a.py", "key = '***'\n", ("AWS key",))


def test_a_file_is_opened_without_following_or_waiting(checkout: Path) -> None:
    """One that was swapped for a link or a pipe after it was seen."""
    root = Root(checkout, "")

    assert read(root, "link.py") == Skipped("link.py", SkipReason.UNREADABLE)
    assert read(root, "pipe.py") == Skipped("pipe.py", SkipReason.UNKNOWN)
    assert read(root, "gone.py") == Skipped("gone.py", SkipReason.UNREADABLE)
    assert read(root, "app/main.py") == FileText("app/main.py", "x = 1\n")


GIT = shutil.which("git")
TREES = {
    "names": {".gitignore": "*.log\nbuild/\n/only.txt\n", "a.log": "", "build/a.py": "", "x/build/b.py": "",
              "only.txt": "", "x/only.txt": ""},
    "negation": {".gitignore": "*.txt\n!keep.txt\ndir/*\n!dir/in.py\n", "a.txt": "", "keep.txt": "",
                 "dir/in.py": "", "dir/out.py": ""},
    "all but some": {".gitignore": "*\n!*/\n!*.py\n", "a.py": "", "b.txt": "", "c/d.py": "", "c/e.txt": ""},
    "nested": {".gitignore": "*.md\n", "sub/.gitignore": "!*.md\n/here.py\n", "a.md": "", "sub/b.md": "",
               "sub/here.py": "", "sub/deep/here.py": ""},
    "exclude": {".git/info/exclude": "mine.py\n", "mine.py": "", "a.py": "", ".gitignore": "b.py\n"},
    "exclude gives way": {".git/info/exclude": "a.py\n", ".gitignore": "!a.py\n", "a.py": ""},
    "signs": {".gitignore": "# a.py\n\\#b.py\nc.py \nd\\ .py\nq?.py\n[x-z].py\n**/deep/*.py\n",
              "a.py": "", "#b.py": "", "c.py": "", "q1.py": "", "y.py": "", "m/deep/n.py": "", "m/n.py": ""},
    "middle": {".gitignore": "doc/frotz\nfoo/**/bar.py\n", "doc/frotz/a.py": "", "a/doc/frotz/a.py": "",
               "foo/bar.py": "", "foo/x/y/bar.py": ""},
    "inside": {".gitignore": "x/**\n!x/keep.py\n", "x/keep.py": "", "x/other.py": "", "x/y/z.py": ""},
    "folders of a name": {".gitignore": "foo.py/\n", "foo.py/foo.py/a.py": "", "b/foo.py": ""},
    "only folders": {".gitignore": "/*\n!/app/\n", "app/a.py": "", "b.py": "", "lib/c.py": ""},
    "carriage returns": {".gitignore": b"a.py\r\n", "a.py": "", "b.py": ""},
    "a mark in front": {".gitignore": b"\xef\xbb\xbfa.py\n", "a.py": "", "b.py": ""},
    "blanks": {".gitignore": "a.py  \nb\\  \n", "a.py": "", "b .py": "", "b ": "", "b": ""},
}  # fmt: skip


def planted(place: Path, tree: dict[str, str | bytes]) -> None:
    subprocess.run(
        [str(GIT), "init", "-q", place], check=True, env={"HOME": str(place), "GIT_CONFIG_NOSYSTEM": "1"}
    )
    for name, text in tree.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(text if isinstance(text, bytes) else text.encode())


@pytest.mark.skipif(GIT is None, reason="no git here to ask")
@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
def test_what_git_ignores_is_left_out(tmp_path: Path, tree: dict[str, str | bytes]) -> None:
    place = tmp_path / "repo"
    planted(place, tree)
    listing = [str(GIT), "-C", str(place), "ls-files", "-z", "--others", "--exclude-standard"]
    env = {"HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1", "XDG_CONFIG_HOME": str(tmp_path)}
    git = subprocess.run(listing, check=True, env=env, capture_output=True).stdout.decode()

    found = [each for each in walk(Root(place, "")) if not isinstance(each, Skipped)]

    named = (each for each in git.split("\0") if language_of(each))
    assert sorted(found) == sorted(named)


def test_a_repository_inside_has_rules_of_its_own(tmp_path: Path) -> None:
    """And none of the one around it, as in a submodule; unless that ignores all of it."""
    tree = {".gitignore": "a.py\nout/\n", "in/.git/info/exclude": "b.py\n", "in/.gitignore": "c.py\n"}
    tree |= dict.fromkeys(
        ("a.py", "in/a.py", "in/b.py", "in/c.py", "in/d/a.py", "out/.git/x", "out/b.py"), "x"
    )
    for name, text in tree.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    found = [each for each in walk(Root(tmp_path, "")) if isinstance(each, str)]

    assert [each for each in found if each.endswith(".py")] == ["in/a.py", "in/d/a.py"]
