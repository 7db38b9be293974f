"""Settings: every name known, every fault told by its name, no value ever told."""

import re
import textwrap
from pathlib import Path

import pytest
from pydantic import BaseModel, SecretStr

from app.errors import StartError
from app.settings import Settings, load, misspelt, names

EXAMPLE = Path(".env.example")
SEEDS = {
    "RAG_TOKEN_BUDGET": 50_000,
    "RAG_TOP_K_MAX": 40,
    "RAG_SIMILARITY_THRESHOLD": 0.2,
    "RAG_CACHE_TTL_SECONDS": 300,
    "RAG_TIMEOUT_SECONDS": 6,
    "RAG_DEBUG_MODE": None,
    "OPENAI_API_KEY": None,
    "EMBED_MODEL": None,
    "QDRANT_URL": None,
    "RETRIEVE_THRESHOLD": 0.30,
    "ENABLE_VANTAGE_ENDPOINTS": False,
    "VANTAGE_DEBUG": False,
    "VANTAGE_PERSONAL_MEMORY": False,
    "POSTGRES_DSN": None,
    "VANTAGE_MODEL": None,
    "FEEDBACK_MODEL": None,
    "RAG_MODEL": None,
}
"""Names and defaults to the letter. The last three, unset: tests/models/test_chat.py."""


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty folder to stand in: no `.env` of the developer's is read."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def default(name: str) -> object:
    """The default of a setting."""
    group, _, field = name.lower().partition("_")
    return getattr(getattr(Settings(), group), field)


def rendered() -> str:
    """`.env.example` as the settings say it."""
    lines = ["# Every setting with its default. Copy to .env and change what you want; empty means unset."]
    for group, field in Settings.model_fields.items():
        model = field.annotation
        assert isinstance(model, type)
        assert issubclass(model, BaseModel)
        lines += ["", *textwrap.wrap(f"## {model.__doc__}", 100)]
        for name, knob in model.model_fields.items():
            about = " ".join((knob.description or "").split())
            value = "" if knob.default is None else str(knob.default)
            shown = value.lower() if isinstance(knob.default, bool) else value
            lines += [*textwrap.wrap(about, 98, initial_indent="# ", subsequent_indent="# ")]
            lines += [f"{group}_{name}=".upper() + shown]
    return "\n".join(lines) + "\n"


def test_the_example_file_is_what_the_settings_say() -> None:
    """Every name, its default and what it does, both ways: neither has what the other lacks."""
    written = (Path(__file__).parents[1] / EXAMPLE).read_text(encoding="utf-8")
    assert written == rendered()


ELSEWHERE = {
    "openai.base_url": "models/chat.py, of a group beside another",
    "chat.api_key": "models/chat.py, as openai.api_key",
    "chat.answer_tokens": "settings.py, answer_reserve",
    "document.max_pages": "ingest/pdf.py, which is given the group",
    "document.memory_mb": "ingest/pdf.py",
    "document.timeout_seconds": "ingest/pdf.py",
    "feedback.model": "models/chat.py, model_at",
    "vantage.model": "models/chat.py, model_at",
}
"""Settings that are read, but not by this name, and where."""


def test_what_nothing_reads_says_so() -> None:
    """`Not yet:`, and nothing else does: who sets it should know that it does nothing."""
    app = Path(__file__).parents[1] / "app"
    code = "\n".join(path.read_text("utf-8") for path in app.rglob("*.py") if path.name != "settings.py")
    unread, told = set(), set()
    for group, field in Settings.model_fields.items():
        assert isinstance(field.annotation, type)
        assert issubclass(field.annotation, BaseModel)
        for name, knob in field.annotation.model_fields.items():
            if not re.search(rf"\b{group}\.{name}\b", code):
                unread.add(f"{group}.{name}")
            if (knob.description or "").startswith("Not yet: "):
                told.add(f"{group}.{name}")
    assert unread == told | ELSEWHERE.keys()
    assert not told & ELSEWHERE.keys()


def test_every_setting_says_what_it_does() -> None:
    """In a docstring under it, with a full stop."""
    for field in Settings.model_fields.values():
        model = field.annotation
        assert isinstance(model, type)
        assert issubclass(model, BaseModel)
        assert model.__doc__
        assert [
            name for name, knob in model.model_fields.items() if not (knob.description or "").endswith(".")
        ] == []


@pytest.mark.parametrize("name", SEEDS)
def test_the_seeds_names_and_defaults_are_kept(name: str) -> None:
    assert name in names()
    assert default(name) == SEEDS[name]


@pytest.mark.parametrize(
    ("name", "value", "read"),
    [
        pytest.param("RAG_TOKEN_BUDGET", "500", 500, id="a number"),
        pytest.param("RAG_TOKEN_BUDGET", " 500 ", 500, id="blanks around it"),
        pytest.param("RAG_MODEL", "  some model ", "some model", id="blanks within it"),
        pytest.param("RAG_TOKEN_BUDGET", "", 50_000, id="empty is unset"),
        pytest.param("CHAT_MODEL", "   ", None, id="blank is unset"),
        pytest.param("RAG_DEBUG_MODE", "", None, id="debug unset"),
        pytest.param("RAG_DEBUG_MODE", "1", True, id="debug on"),
        pytest.param("RAG_DEBUG_MODE", "off", False, id="debug off"),
        pytest.param("ENABLE_VANTAGE_ENDPOINTS", "1", True, id="a switch"),
        pytest.param("IBID_DATA_DIR", "/srv/my ibid", Path("/srv/my ibid"), id="a folder"),
        pytest.param("OPENAI_BASE_URL", "http://h:1/v1", "http://h:1/v1", id="an address"),
        pytest.param("CORPUS_COLLECTIONS", "a,b", "a,b", id="a list"),
        pytest.param("OPENAI_API_KEY", "sk-1\r\n", SecretStr("sk-1"), id="a key from a file"),
    ],
)
def test_a_value_is_read(monkeypatch: pytest.MonkeyPatch, name: str, value: str, read: object) -> None:
    """From the environment, without the blanks around it."""
    monkeypatch.setenv(name, value)
    settings, warnings = load()
    group, _, field = name.lower().partition("_")
    assert getattr(getattr(settings, group), field) == read
    assert warnings == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RAG_TOKEN_BUDGET", "0"), ("RAG_TOKEN_BUDGET", "1000001"), ("RAG_TOKEN_BUDGET", "many"),
        ("RAG_TOP_K_MAX", "0"), ("RAG_SIMILARITY_THRESHOLD", "1.5"), ("RAG_TIMEOUT_SECONDS", "0"),
        ("RAG_TIMEOUT_SECONDS", "nan"), ("RAG_CACHE_TTL_SECONDS", "inf"), ("RAG_DEBUG_MODE", "perhaps"),
        ("IBID_PORT", "70000"), ("IBID_LOG_LEVEL", "loud"), ("IBID_BOOTSTRAP_KEY", "hunter2"),
        ("OPENAI_API_KEY", "sk-one\nsk-two"), ("CHAT_API_KEY", "sk-\x7f"), ("EMBED_API_KEY", "schlüssel"),
        ("QDRANT_API_KEY", "one\ntwo"),
        ("DOCUMENT_MAX_MB", "0"), ("CHAT_BASE_URL", "host:8000"), ("EMBED_DIM", "-1"), ("QDRANT_URL", "a b"),
        ("RERANK_URL", "ftp://h/rerank"), ("MEMORY_SERVICE_URL", "ftp://h"), ("VANTAGE_RISK_URL", "ftp://h"),
    ],
)  # fmt: skip
def test_a_value_out_of_range_stops_with_its_name(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    """The name is told, the value is not: it may be a secret."""
    monkeypatch.setenv(name, value)
    with pytest.raises(StartError, match=f"^{name}: ") as stopped:
        load()
    assert len(value) < 4 or value not in str(stopped.value)
    assert stopped.value.__cause__ is None


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("RAG_TOPK_MAX", "RAG_TOP_K_MAX"),
        ("IBID_DATADIR", "IBID_DATA_DIR"),
        ("VANTAGE_MODLE", "VANTAGE_MODEL"),
        ("rag_topk_max", "RAG_TOP_K_MAX"),
        ("Ibid_DataDir", "IBID_DATA_DIR"),
    ],
)
def test_a_misspelt_name_of_ours_stops(monkeypatch: pytest.MonkeyPatch, name: str, meant: str) -> None:
    """With the name, and the one that was meant; also where it stands in `.env`."""
    monkeypatch.setenv(name, "1")
    with pytest.raises(StartError, match=rf"unknown setting: {name} \(did you mean {meant}\?\)"):
        load()
    monkeypatch.delenv(name)
    Path(".env").write_text(f"{name}=1\n", encoding="utf-8")
    with pytest.raises(StartError, match=name):
        load()


@pytest.mark.parametrize(
    ("name", "warned"),
    [
        pytest.param("OPENAI_API_KEYS", True, id="near"),
        pytest.param("DOCUMENT_MAX_MBS", True, id="near too"),
        pytest.param("openai_api_keys", True, id="near in small letters"),
        pytest.param("openai_api_key", False, id="right in small letters"),
        pytest.param("CHROMA_PORT_8000_TCP", False, id="Docker's"),
        pytest.param("POSTGRES_PASSWORD", False, id="an image's"),
        pytest.param("PATH", False, id="the system's"),
    ],
)
def test_other_prefixes_warn_on_near_misses_only(name: str, warned: bool) -> None:
    """Docker and SDKs set theirs there."""
    errors, warnings = misspelt([name])
    assert errors == []
    assert [warning.split()[0] for warning in warnings] == ([name] if warned else [])


def test_the_environment_goes_before_the_file_and_options_before_both(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An empty value in the environment leaves the file's."""
    Path(".env").write_text(
        "\ufeffIBID_PORT=1\nIBID_HOST=a\nRAG_TOP_K_MAX=3\nRAG_MODEL=m\n", encoding="utf-8"
    )
    monkeypatch.setenv("IBID_PORT", "2")
    monkeypatch.setenv("IBID_HOST", "b")
    monkeypatch.setenv("RAG_MODEL", "")
    settings, _ = load(ibid={"port": 3})
    assert (settings.ibid.port, settings.ibid.host) == (3, "b")
    assert (settings.rag.top_k_max, settings.rag.model) == (3, "m")


def test_a_file_that_is_not_text_stops() -> None:
    """With its name, and nothing of what is in it."""
    Path(".env").write_bytes(b"RAG_MODEL=\xff\xfe\n")
    with pytest.raises(StartError, match=r"^\.env cannot be read: UnicodeDecodeError$"):
        load()


def test_secrets_are_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in the settings' own text, which ends in tracebacks and logs."""
    secrets = {name: f"hunter2-and-more-{name}" for name in names() if isinstance_secret(name)}
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)
    settings, _ = load()
    assert set(secrets) == {
        "IBID_BOOTSTRAP_KEY",
        "OPENAI_API_KEY",
        "CHAT_API_KEY",
        "EMBED_API_KEY",
        "POSTGRES_DSN",
        "QDRANT_API_KEY",
        "CACHE_URL",
        "RERANK_API_KEY",
        "VANTAGE_RISK_API_KEY",
    }
    assert "hunter2" not in repr(settings) + str(settings) + settings.model_dump_json()


def isinstance_secret(name: str) -> bool:
    """True if a setting is kept as a secret."""
    group, _, field = name.lower().partition("_")
    model = Settings.model_fields[group].annotation
    assert isinstance(model, type)
    assert issubclass(model, BaseModel)
    return SecretStr.__name__ in str(model.model_fields[field].annotation)


@pytest.mark.parametrize(("host", "loopback"), [("127.0.0.1", True), ("::1", True), ("0.0.0.0", False)])  # noqa: S104
def test_loopback_is_this_machine_alone(host: str, loopback: bool) -> None:
    """An open service may be bound nowhere else."""
    assert load(ibid={"host": host})[0].loopback is loopback
