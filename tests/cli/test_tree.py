"""Which files of a repository are taken, and why the others are not."""

import os
from collections import Counter
from pathlib import Path

import pytest

from app.cli.tree import MOST_BYTES, Reason, Root, Skipped, Text, read, rooted, told, walk

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
    """How often each."""
    return Counter(str(each.reason) for each in walk(Root(repo, "")) if isinstance(each, Skipped))


def test_code_and_texts_are_taken_and_nothing_else(repo: Path) -> None:
    """Neither what tools fill in, nor secrets, nor what a link leads to."""
    found = [each for each in walk(Root(repo, "")) if isinstance(each, str)]

    assert found == ["README.md", "app/main.py"]
    assert reasons(repo) == {
        Reason.FOLDER: 3,
        Reason.SECRET: 1,
        Reason.LINK: 2,
        Reason.MADE: 2,
        Reason.UNKNOWN: 2,
        Reason.NAME: 1,
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
    assert list(walk(rooted(repo / ".env"))) == [Skipped(".env", Reason.SECRET)]
    assert list(walk(rooted(repo / "photo.jpg"))) == [Skipped("photo.jpg", Reason.UNKNOWN)]
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

    skipped = Skipped(os.fsdecode(name), Reason.NAME)
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
    assert told("a.py", data) == Text("a.py", text)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", Reason.EMPTY),
        (b" \n\t\n", Reason.EMPTY),
        (b"\x7fELF\x00\x01", Reason.BINARY),
        (bytes(range(1, 32)) * 20, Reason.BINARY),
        (b"x" * (MOST_BYTES + 1), Reason.LARGE),
        (b"var a=1;" * 2_000, Reason.MADE),
    ],
    ids=["empty", "blank", "nul", "control", "large", "minified"],
)
def test_what_is_no_text_is_told_as_what_it_is(data: bytes, reason: Reason) -> None:
    """And not read further."""
    assert told("a.py", data) == Skipped("a.py", reason)


def test_secrets_are_written_over_before_anything_is_sent() -> None:
    """Which kinds is told, and where."""
    assert told("a.py", f"key = '{KEY}'\n".encode()) == Text("a.py", "key = '***'\n", ("AWS key",))


def test_a_file_is_opened_without_following_or_waiting(repo: Path) -> None:
    """One that was swapped for a link or a pipe after it was seen."""
    root = Root(repo, "")

    assert read(root, "link.py") == Skipped("link.py", Reason.UNREADABLE)
    assert read(root, "pipe.py") == Skipped("pipe.py", Reason.UNKNOWN)
    assert read(root, "gone.py") == Skipped("gone.py", Reason.UNREADABLE)
    assert read(root, "app/main.py") == Text("app/main.py", "x = 1\n")


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
    assert Skipped("app", Reason.UNREADABLE) in [*first, *walking]
