"""`ibid eval`: folders measured on stores of their own, through the real write side and sources."""

import json
from io import StringIO
from pathlib import Path

import pytest
from pydantic import SecretStr
from rich.console import Console

from app.cli.eval import Source, apart, chosen, remarks, table
from app.config import Ibid as IbidKnobs
from app.config import OpenAI, Postgres, Qdrant, Settings
from app.domain.benchmark import MEASURES, Benchmark, Text
from tests.cli.conftest import Ibid, lines

FERRY = "The ferry to Samso leaves at seven in the morning."
BEES = "My sister keeps bees behind the old mill."
RESULT = {
    "set": "birds",
    "split": "dev",
    "source": "memories",
    "queries": 1_200,
    "metrics": dict.fromkeys(MEASURES, 0.5),
    "unanswerable": 0,
    "dangling": 0,
    "degraded": {},
}


def written(folder: Path, scope: str) -> Path:
    """Two texts and a question that one of them answers."""
    folder.mkdir()
    belongs = {"scope": scope}
    texts = [{"id": "t1", "text": FERRY, **belongs}, {"id": "t2", "text": BEES, **belongs}]
    questions = [
        {"id": "q1", "text": "Who keeps bees?", "rel": {"t2": 1}, **belongs},
        {"id": "q2", "text": "Why?", "rel": {}, **belongs},
    ]
    for name, rows in (("corpus", texts), ("queries_dev", questions)):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


def test_a_folder_is_measured_on_stores_of_its_own(ibid: Ibid) -> None:
    """Texts with scopes as memories, found by what they say; nothing is left behind in the data folder."""
    mine = written(ibid.place / "mine", "ada")

    done = ibid.process("eval", str(mine), "--json")

    assert done.code == 0, done.err
    (result,) = lines(done.out)
    assert (result["set"], result["split"], result["source"]) == ("mine", "dev", "memories")
    assert result["metrics"] == dict.fromkeys(MEASURES, 1.0)
    assert (result["queries"], result["unanswerable"], result["stored"]) == (1, 1, 2)
    assert not ibid.data.exists()


def test_a_folder_that_is_none_is_told_in_a_sentence(ibid: Ibid) -> None:
    """With the file that is missing; nothing is opened for it."""
    (ibid.place / "empty").mkdir()

    done = ibid.process("eval", "empty")

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("ibid: empty/corpus.jsonl is not there")


@pytest.mark.parametrize(
    ("texts", "source", "expected"),
    [
        pytest.param([Text("1", "a", scope="s")], None, Source.MEMORIES, id="somebody's"),
        pytest.param([Text("1", "a")], None, Source.CORPUS, id="nobody's"),
        pytest.param([Text("1", "a")], Source.MEMORIES, Source.MEMORIES, id="as told"),
    ],
)
def test_texts_go_where_they_belong(texts: list[Text], source: Source | None, expected: Source) -> None:
    """Unless the option says where."""
    assert chosen(Benchmark("b", "dev", texts, []), source) is expected


def test_a_measurement_touches_no_store_that_is_configured(tmp_path: Path) -> None:
    """Only the models stay as they are; nothing is cached."""
    settings = Settings(
        _env_file=None,
        ibid=IbidKnobs(workers=0),
        openai=OpenAI(api_key=SecretStr("k")),
        postgres=Postgres(dsn=SecretStr("postgresql://theirs/ibid")),
        qdrant=Qdrant(url="http://theirs:6333"),
    )

    own = apart(settings, tmp_path)

    assert (own.postgres.dsn, own.chroma.url, own.qdrant.url, own.cache.url) == (None, None, None, None)
    assert (own.ibid.data_dir, own.ibid.workers, own.rag.cache_ttl_seconds) == (tmp_path, 1, 0)
    assert own.openai == settings.openai


def test_a_table_has_a_line_a_folder() -> None:
    """With every measure."""
    out = StringIO()

    Console(file=out, width=120).print(table([RESULT, {**RESULT, "set": "bees"}]))

    head, *rows = [line.split() for line in out.getvalue().splitlines()]
    assert head == ["Set", "Source", "Questions", *MEASURES]
    assert rows[0] == ["birds", "(dev)", "memories", "1,200", *["0.500"] * 5]
    assert rows[1][0] == "bees"


def test_what_makes_figures_doubtful_is_told() -> None:
    """And nothing where there is nothing to tell."""
    doubtful = {"unanswerable": 2, "dangling": 1, "degraded": {"memories: timeout": 3}}

    told = " / ".join(remarks({**RESULT, **doubtful}))

    assert remarks(RESULT) == []
    assert "2 questions" in told
    assert "1 grade " in told
    assert "memories: timeout (3)" in told
