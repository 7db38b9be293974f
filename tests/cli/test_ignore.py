"""What is ignored, against git itself."""

import shutil
import subprocess
from pathlib import Path

import pytest

from app.cli.tree import Root, Skipped, walk

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

    assert sorted(found) == sorted(each for each in git.split("\0") if each)


def test_a_list_that_is_a_link_is_not_read(tmp_path: Path) -> None:
    """Nor does git."""
    (tmp_path / "rules").write_text("*.py\n")
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / ".gitignore").symlink_to(tmp_path / "rules")
    (tmp_path / "repo" / "a.py").write_text("x")

    assert "a.py" in list(walk(Root(tmp_path / "repo", "")))
