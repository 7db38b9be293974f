"""Which files of a repository are taken, against git itself, and why the others are not."""

import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from app.cli.repository import MOST_BYTES, FileText, Root, Skipped, SkipReason, file_text, read, rooted, walk
from app.ingest.syntax import language_of

KEY = "AKIA" + "ABCDEFGH12345678"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
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


def reasons(repo: Path) -> Counter[str]:
    return Counter(str(each.reason) for each in walk(Root(repo, "")) if isinstance(each, Skipped))


def test_code_and_texts_are_taken_and_nothing_else(repo: Path) -> None:
    """Neither what tools fill in, nor secrets, nor what a link leads to."""
    found = [each for each in walk(Root(repo, "")) if isinstance(each, str)]

    assert found == ["README.md", "app/main.py"]
    assert reasons(repo) == {
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
def test_paths_begin_where_the_repository_does(repo: Path, path: str, root: str, part: str) -> None:
    """A folder that git ignores, or that is in none, is its own root."""
    (repo / ".gitignore").write_text("node_modules/\n")
    place = repo.parent

    alone = root != "repo"
    assert rooted(place / path) == Root(place / root, part, alone=alone)


def test_a_part_of_a_repository_is_walked_alone(repo: Path) -> None:
    """With the rules that hold in it; a single file too."""
    (repo / "app" / "old.py").write_text("x")
    (repo / ".gitignore").write_text("old.py\n")

    assert [each for each in walk(rooted(repo / "app")) if isinstance(each, str)] == ["app/main.py"]
    assert list(walk(rooted(repo / "app" / "main.py"))) == ["app/main.py"]
    assert list(walk(rooted(repo / ".env"))) == [Skipped(".env", SkipReason.SECRET)]
    assert list(walk(rooted(repo / "photo.jpg"))) == [Skipped("photo.jpg", SkipReason.UNKNOWN)]
    assert [rooted(repo / "app").holds(path) for path in ("app/x.py", "apple.py", "app")] == [
        True,
        False,
        True,
    ]


@pytest.mark.parametrize("name", [b"b\xff.py", b"b\x1b[2J.py", b"b\n.py"])
def test_a_name_that_cannot_be_kept_is_told(tmp_path: Path, name: bytes) -> None:
    """Of a file that is named by itself as of one that is found."""
    path = tmp_path / os.fsdecode(name)
    path.write_text("x = 1\n")

    skipped = Skipped(os.fsdecode(name), SkipReason.NAME)
    assert list(walk(rooted(path))) == [skipped]
    assert list(walk(rooted(tmp_path))) == [skipped]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("Grüße\n".encode(), "Grüße\n"),
        (b"\xef\xbb\xbfx = 1\n", "x = 1\n"),
        ("Grüße\n".encode("utf-16"), "Grüße\n"),
        ("Grüße\n".encode("latin-1"), "Grüße\n"),
        (b"a\r\nb\r\n", "a\r\nb\r\n"),
    ],
    ids=["utf-8", "mark", "utf-16", "latin", "crlf"],
)
def test_texts_are_read_as_they_are_written(data: bytes, text: str) -> None:
    """Without the mark in front; line ends stay."""
    assert file_text("a.py", data) == FileText("a.py", text)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", SkipReason.EMPTY),
        (b" \n\t\n", SkipReason.EMPTY),
        (b"\x7fELF\x00\x01", SkipReason.BINARY),
        (bytes(range(1, 32)) * 20, SkipReason.BINARY),
        (b"x" * (MOST_BYTES + 1), SkipReason.LARGE),
        (b"var a=1;" * 2_000, SkipReason.MADE),
    ],
    ids=["empty", "blank", "nul", "control", "large", "minified"],
)
def test_what_is_no_text_is_told_as_what_it_is(data: bytes, reason: SkipReason) -> None:
    """And not read further."""
    assert file_text("a.py", data) == Skipped("a.py", reason)


def test_secrets_are_written_over_before_anything_is_sent() -> None:
    """Which kinds is told, and where."""
    assert file_text("a.py", f"key = '{KEY}'\n".encode()) == FileText("a.py", "key = '***'\n", ("AWS key",))


def test_a_file_is_opened_without_following_or_waiting(repo: Path) -> None:
    """One that was swapped for a link or a pipe after it was seen."""
    root = Root(repo, "")

    assert read(root, "link.py") == Skipped("link.py", SkipReason.UNREADABLE)
    assert read(root, "pipe.py") == Skipped("pipe.py", SkipReason.UNKNOWN)
    assert read(root, "gone.py") == Skipped("gone.py", SkipReason.UNREADABLE)
    assert read(root, "app/main.py") == FileText("app/main.py", "x = 1\n")


def test_a_folder_that_cannot_be_listed_is_told(repo: Path) -> None:
    """And the others are walked."""
    found = list(walk(Root(repo, "")))
    (repo / "app" / "main.py").unlink()
    (repo / "app").rmdir()
    walking = walk(Root(repo, ""))
    (repo / "app").mkdir()
    first = [next(walking) for _ in range(3)]
    (repo / "app").rmdir()

    assert "app/main.py" in found
    assert Skipped("app", SkipReason.UNREADABLE) in [*first, *walking]


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
    """Files in a repository."""
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


def test_a_list_that_is_a_link_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "rules").write_text("*.py\n")
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / ".gitignore").symlink_to(tmp_path / "rules")
    (tmp_path / "repo" / "a.py").write_text("x")

    assert "a.py" in list(walk(Root(tmp_path / "repo", "")))


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
