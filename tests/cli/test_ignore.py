"""What is ignored, against git itself."""

import shutil
import subprocess
from pathlib import Path

import pytest

from app.cli.ignore import Rules, excluded, lined, trimmed
from app.cli.tree import Root, Skipped, walk
from app.ingest.syntax import language_of

GIT = shutil.which("git")
TREES = {
    "names": {".gitignore": "*.log\nbuild/\n/only.txt\n", "a.log": "", "build/a.py": "", "x/build/b.py": "",
              "only.txt": "", "x/only.txt": ""},
    "negation": {".gitignore": "*.txt\n!keep.txt\ndir/*\n!dir/in.py\n", "a.txt": "", "keep.txt": "",
                 "dir/in.py": "", "dir/out.py": ""},
    "nothing comes back from below": {".gitignore": "out/\n!out/a.py\n", "out/a.py": "", "b.py": ""},
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
    "no pattern": {".gitignore": "\\\na\\\n*.py\\\n!\n/\n[z-a].py\n[9-0]\n[\n[[:odd:]].py\nb.py\n",
                   "a.py": "", "b.py": ""},
    "a mark in front": {".gitignore": b"\xef\xbb\xbfa.py\n", "a.py": "", "b.py": ""},
    "classes": {".gitignore": "conf[[:digit:]].py\n[\\]].py\n[!a].py\n?b.py\n", "conf1.py": "",
                "confx.py": "", "].py": "", "é.py": "", "z.py": "", "éb.py": "", "xb.py": ""},
    "folders below": {".gitignore": "build/**/\n", "build/a.py": "", "build/x/b.py": ""},
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
def test_what_git_passes_over_is_passed_over(tmp_path: Path, tree: dict[str, str | bytes]) -> None:
    """The same files, whatever the lines."""
    place = tmp_path / "repo"
    planted(place, tree)
    listing = [str(GIT), "-C", str(place), "ls-files", "-z", "--others", "--exclude-standard"]
    env = {"HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1", "XDG_CONFIG_HOME": str(tmp_path)}
    git = subprocess.run(listing, check=True, env=env, capture_output=True).stdout.decode()

    found = [each for each in walk(Root(place, "")) if not isinstance(each, Skipped)]

    named = (each for each in git.split("\0") if language_of(each))
    assert sorted(found) == sorted(named)


def test_a_list_that_is_a_link_is_not_read(tmp_path: Path) -> None:
    """Nor does git."""
    (tmp_path / "rules").write_text("*.py\n")
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / ".gitignore").symlink_to(tmp_path / "rules")
    (tmp_path / "repo" / "a.py").write_text("x")

    assert "a.py" in list(walk(Root(tmp_path / "repo", "")))


@pytest.mark.skipif(GIT is None, reason="no git here to ask")
def test_a_worktree_has_the_list_of_its_repository(tmp_path: Path) -> None:
    """Its `.git` is a file that says where."""
    env = {"HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    planted(tmp_path / "repo", {".git/info/exclude": "mine.py\n"})
    for command in (["commit", "-q", "--allow-empty", "-m", "x"], ["worktree", "add", "-q", "../tree"]):
        subprocess.run([str(GIT), "-C", tmp_path / "repo", *who, *command], check=True, env=env)
    for name in ("mine.py", "a.py"):
        (tmp_path / "tree" / name).write_text("x")

    assert [each for each in walk(Root(tmp_path / "tree", "")) if isinstance(each, str)] == ["a.py"]


@pytest.mark.parametrize(
    "pointer", [b"", b"gitdir: ", b"gitdir: \xff\0x", b"gitdir: /nowhere\n", b"\n" * 9_000]
)
def test_a_pointer_to_nowhere_costs_nothing(tmp_path: Path, pointer: bytes) -> None:
    """Whatever it says."""
    (tmp_path / ".git").write_bytes(pointer)
    (tmp_path / "a.py").write_text("x")

    assert "a.py" in list(walk(Root(tmp_path, "")))
    assert excluded(tmp_path / "none") is None


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


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("a  ", "a"),
        ("a\\  ", "a\\ "),
        ("a\\\\  ", "a\\\\"),
        ("a b ", "a b"),
        ("a\\", "a\\"),
        ("   ", ""),
        ("\\ ", "\\ "),
    ],
)
def test_blanks_at_the_end_say_nothing(text: str, bare: str) -> None:
    """But for one behind a backslash that does not stand for itself."""
    assert trimmed(text.encode()) == bare.encode()


@pytest.mark.parametrize("line", ["?" * 65_536, "a" + " " * 250_000 + "b", "a\\ " * 80_000])
def test_a_long_line_says_nothing_and_takes_no_time(line: str) -> None:
    """No path is as long."""

    assert lined(line.encode()) is None
    assert trimmed(line.encode())


def test_a_long_list_takes_no_time() -> None:
    """Hundreds of lines and thousands of paths: a part of a second, though each is asked of all."""
    signs = ("*.e{}", "name{}/", "/docs/p{}/*.html", "[Bb]in{}/", "**/gen{}/**", "*_gen{}_*.py")
    found = [lined(signs[at % 6].format(at).encode()) for at in range(300)]
    rules = Rules(((0, tuple(line for line in found if line)),))

    ignored = [rules.ignore(f"pkg{at % 50}/sub{at % 7}/module_{at}.py", folder=False) for at in range(500)]

    assert not any(ignored)
    assert len(rules.layers[0][1]) == 300
