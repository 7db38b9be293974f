"""`ibid ingest`: which files it takes, what becomes of each through a running service, and the sum."""

from pathlib import Path

import pytest

from app.cli.ingest import found, summary
from app.cli.upload import Outcome, Status
from tests.cli.conftest import Done, Ibid, Running, lines
from tests.fakes.pdfs import text_pdf


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """PDFs of both cases, one deeper, and other things beside."""
    (tmp_path / "deep" / "deeper").mkdir(parents=True)
    (tmp_path / "folder.pdf").mkdir()
    for name in ("b.pdf", "a.PDF", "notes.txt", "deep/deeper/c.Pdf", "pdf"):
        (tmp_path / name).write_bytes(b"x")
    return tmp_path


def test_a_folder_gives_its_pdfs_of_any_case_and_depth(tree: Path) -> None:
    """Sorted; neither other files nor folders that are called like PDFs."""
    names = [str(path.relative_to(tree)) for path in found([tree])]

    assert names == ["a.PDF", "b.pdf", "deep/deeper/c.Pdf"]


def test_a_named_file_is_taken_whatever_its_name(tree: Path) -> None:
    """The service says what is wrong with it, not the command."""
    assert found([tree / "notes.txt"]) == [tree / "notes.txt"]


def test_a_file_named_twice_is_sent_once(tree: Path) -> None:
    """By its folder and by its name, or by two spellings."""
    assert len(found([tree, tree / "b.pdf", tree / "deep" / ".." / "b.pdf"])) == 3


def test_the_summary_counts_each_end() -> None:
    """Pages are those of the files taken now."""
    outcomes = [
        Outcome(Path("a"), Status.TAKEN, {"pages": 1000}),
        Outcome(Path("b"), Status.TAKEN, {"pages": 500}),
        Outcome(Path("c"), Status.KNOWN, {"pages": 7}),
        Outcome(Path("d"), Status.REFUSED),
    ]

    assert summary(outcomes) == "4 files: 2 taken (1,500 pages), 1 already there, 1 refused"


def test_ingest_says_what_became_of_each_file(ingested: Done) -> None:
    """Pages for those taken, the reason for those refused, a sum at the end; and exit code 1."""
    told = sorted(ingested.out.splitlines()[:-1])

    assert ingested.code == 1
    assert "LOCKED.PDF: The PDF is encrypted" in told[0]
    assert "notes.txt: Not a PDF" in told[1]
    assert "harbour.pdf: 2 pages" in told[2]
    assert ingested.out.splitlines()[-1] == "3 files: 1 taken (2 pages), 2 refused"


def test_ingesting_again_finds_it_there(held: Ibid, folder: Path, ingested: object) -> None:
    """The same bytes are known; nothing is refused, so the exit code is 0."""
    again = held("ingest", folder / "harbour.pdf", "--json")

    [line] = lines(again.out)
    assert (again.code, line["status"], line["problem"]) == (0, "known", None)
    assert line["document"]["scope"] == "global"


def test_machines_read_the_problem_of_a_refused_file(held: Ibid, folder: Path, service: Running) -> None:
    """With --json stdout holds JSON lines alone."""
    refused = held("ingest", folder / "LOCKED.PDF", "--json", "--session", "s")

    [line] = lines(refused.out)
    assert (refused.code, line["status"]) == (1, "refused")
    assert line["problem"]["type"] == "urn:ibid:problem:pdf-encrypted"


def test_a_new_version_needs_replace(held: Ibid, service: Running) -> None:
    """The name is taken, until the person says that the old one may go."""
    path = held.place / "version.pdf"
    path.write_bytes(text_pdf("The first version."))
    first = held("ingest", path, "--session", "v")
    path.write_bytes(text_pdf("The second version."))

    refused = held("ingest", path, "--session", "v")
    replaced = held("ingest", path, "--session", "v", "--replace")

    assert [run.code for run in (first, refused, replaced)] == [0, 1, 0]
    assert "taken by another document" in refused.out


def test_files_can_be_put_in_for_a_user(held: Ibid, service: Running) -> None:
    """So that they are exported and erased with that user."""
    path = held.place / "letter.pdf"
    path.write_bytes(text_pdf("Dear Ada, the ferry leaves at nine."))

    done = held("ingest", path, "--session", "letters", "--user", "ada", "--json")

    assert lines(done.out)[0]["document"]["user_id"] == "ada"


def test_a_file_that_cannot_be_opened_is_told_and_the_others_go_on(
    held: Ibid, service: Running, tmp_path: Path
) -> None:
    """A dangling link among good files fails alone."""
    (tmp_path / "good.pdf").write_bytes(text_pdf("The mill at Skagen ground its last flour in 1902."))
    (tmp_path / "gone.pdf").symlink_to(tmp_path / "nowhere")

    done = held("ingest", tmp_path / "good.pdf", tmp_path / "gone.pdf", "--session", "links")

    assert done.code == 2  # a named path must be there
    assert "gone.pdf" in done.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["--session", "s", "--global"], "not both", id="two places"),
        pytest.param([], "Missing argument", id="no path"),
        pytest.param(["--sesion", "s"], "No such option", id="misspelt option"),
    ],
)
def test_wrong_usage_exits_with_two(ibid: Ibid, tmp_path: Path, arguments: list[str], said: str) -> None:
    """Nothing is opened for it."""
    paths = [] if said == "Missing argument" else [str(tmp_path)]

    done = ibid("ingest", *paths, *arguments)

    assert done.code == 2
    assert said in done.err
    assert not ibid.data.exists()


def test_a_folder_without_pdfs_is_a_failure(ibid: Ibid, tmp_path: Path) -> None:
    """Most likely the path was wrong."""
    (tmp_path / "empty").mkdir()

    done = ibid("ingest", tmp_path / "empty")

    assert (done.code, done.err) == (1, "No PDF found.\n")
