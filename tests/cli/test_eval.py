"""`ibid eval`: folders measured on stores of their own, through the real write side and sources."""

import json
from pathlib import Path

import pytest
from pydantic import SecretStr

from app.cli.eval import Source, apart, chosen, writable
from app.config import Ibid as IbidKnobs
from app.config import OpenAI, Postgres, Qdrant, Settings
from app.domain.benchmark import ABLATIONS, MEASURES, Benchmark, Text
from app.domain.errors import BadInput
from tests.cli.conftest import Ibid, lines

FERRY = "The ferry to Samso leaves at seven in the morning."
BEES = "My sister keeps bees behind the old mill."
PERFECT = {**dict.fromkeys(MEASURES, 1.0), "failure@20": 0.0}


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
    """Texts with scopes as memories, found by what they say, four ways; in the data folder stands what was
    embedded, and nothing else."""
    mine = written(ibid.place / "mine", "ada")
    extras = ("--queries", "out/q.jsonl", "--picture", "out/p.svg")

    done = ibid.process("eval", str(mine), "--json", *extras)

    assert done.code == 0, done.err
    (result,) = lines(done.out)
    assert (result["set"], result["split"], result["source"]) == ("mine", "dev", "memories")
    assert result["metrics"] == PERFECT
    assert result["intervals"]["recall@5"] == [1.0, 1.0]
    assert list(result["ablations"]) == list(ABLATIONS)
    assert (result["queries"], result["unanswerable"], result["stored"]) == (1, 1, 2)
    (row,) = lines((ibid.place / "out/q.jsonl").read_text())
    assert (row["id"], row["found"][0], row["metrics"]["all"]) == ("q1", "t2", PERFECT)
    assert (ibid.place / "out/p.svg").read_text().startswith("<svg")
    assert [path.relative_to(ibid.data).as_posix() for path in ibid.data.rglob("*")] == [
        "eval",
        "eval/embeddings.sqlite",
    ]


def test_a_run_is_compared_with_an_earlier_one(ibid: Ibid) -> None:
    """Of code, through its own write side; vectors come from the folder that is named."""
    mine = written(ibid.place / "mine", "flask")
    lost = {**PERFECT, "mrr": 0.25}
    row = {"set": "mine", "split": "dev", "source": "code", "id": "q1", "metrics": {"all": lost}}
    (ibid.place / "before.jsonl").write_text(json.dumps(row))
    extras = ("--against", "before.jsonl", "--cache", "vectors")

    done = ibid.process("eval", str(mine), "--source", "code", *extras)

    assert done.code == 0, done.err
    said = [line.split() for line in done.out.splitlines()]
    assert ["mine", "(dev),", "code,", "1", "question"] in said
    assert ["mrr", ".250", "1.000", "+.750", "+.750", "+.750", "1", "0", "0", "1.000"] in said
    assert (ibid.place / "vectors" / "embeddings.sqlite").exists()
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


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """Before minutes of work."""
    with pytest.raises(BadInput, match="cannot be written"):
        writable(tmp_path)
