"""Settings: every environment variable with its default, its range and what it does; read here, once.

A group's name and a field's make the variable's name: `Rag.token_budget` is `RAG_TOKEN_BUDGET`. The process
environment comes before `.env`; blanks around a value do not count, an empty value is unset. A misspelt name
of Ibid's own prefixes or a value out of range raises `StartError`. Tokens are o200k, times seconds.
"""

import difflib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from dotenv import dotenv_values
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    StringConstraints,
    ValidationError,
)
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from app.errors import StartError


def one_line(key: SecretStr) -> SecretStr:
    """A key as a header can carry it: white space around it is a file's or an editor's."""
    bare = key.get_secret_value().strip()
    if not bare.isascii() or not bare.isprintable():
        raise ValueError("a key is printable ASCII on one line")
    return SecretStr(bare)


def reachable(url: str) -> str:
    """An address that paths are appended to."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise ValueError("is not a URL") from None
    if not parts.hostname or parts.username is not None or parts.query or parts.fragment or url[-1] in "?#":
        raise ValueError("has a host and perhaps a path, no user, query or fragment")
    return url.rstrip("/")


Key = Annotated[SecretStr, AfterValidator(one_line)]
RATE = r"^[1-9]\d{0,11}/(second|minute|hour|day)$"
Rate = Annotated[str, StringConstraints(pattern=RATE)]
ORIGIN = re.compile(r"(https?)://([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:]+\])(?::([1-9]\d{0,4}))?")


def origins(text: str) -> str:
    """Origins as browsers send them (RFC 6454): scheme, host, and a port that is not the scheme's own."""
    for number, origin in enumerate(listed(text), 1):
        found = ORIGIN.fullmatch(origin)
        if found is None or found[3] == {"http": "80", "https": "443"}[found[1]]:
            raise ValueError(
                f"entry {number} is no exact origin: http(s)://host or http(s)://host:port in small letters,"
                " without a path, a wildcard or the scheme's own port"
            )
    return text


def listed(text: str | None) -> list[str]:
    """The entries of a comma-separated setting."""
    return [entry.strip() for entry in (text or "").split(",") if entry.strip()]


Origins = Annotated[str, AfterValidator(origins)]
Url = Annotated[str, StringConstraints(pattern=r"^https?://\S+$")]
PublicUrl = Annotated[Url, AfterValidator(reachable)]


class Group(BaseModel):
    """A group of settings: frozen; foreign names under the same prefix are not ours to judge."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False, use_attribute_docstrings=True)


class Ibid(Group):
    """Where the service lives."""

    data_dir: Path = Path(".ibid")
    """Folder of everything embedded: Postgres, Chroma, the lock file. Made if missing."""
    host: str = "127.0.0.1"
    """Address to listen on. Others than loopback are refused while there is no API key."""
    port: int = Field(8000, ge=0, le=65535)
    """TCP port; 0 takes a free one."""
    public_url: PublicUrl | None = None
    """Address at which people's browsers reach the service, such as https://ibid.example.org: `web_url` of
    citations and search results begins with it. Unset: they have none."""
    bootstrap_key: SecretStr | None = Field(None, min_length=20)
    """A first tenant key of the tenant `default`, for containers. At least 20 random characters."""
    log_level: str = Field("info", pattern="^(debug|info|warning|error)$")
    """Least level that is logged. Message texts are never logged at any level."""
    workers: int = Field(1, ge=0, le=16)
    """Documents read at once by this process; 0 leaves the work to other replicas."""
    limit_requests: Rate | None = None
    """Requests that each key may make, such as 120/minute (or /second, /hour, /day). Unset: any number. With
    CACHE_URL exact over all replicas."""
    limit_tokens: Rate | None = None
    """Tokens that the answers of each key may use, prompts included, such as 200000/hour. Charged after each
    answer. Unset: any number."""
    limit_concurrency: int | None = Field(None, ge=1, le=100_000)
    """Requests of each key at the same time; a stream counts until it ends. Unset: any number."""
    cors_origins: Origins | None = None
    """Origins of web pages that may call the service with a key, comma-separated and exact, such as
    https://app.example.org. Unset: only its own page."""
    metrics_port: int | None = Field(None, ge=0, le=65535)
    """TCP port that serves /metrics alone, without a key; 0 takes a free one. Unset: only /metrics of the
    service, with a tenant key."""
    metrics_host: str = "127.0.0.1"
    """Address of IBID_METRICS_PORT. All who can reach it can read the metrics: counts, but no texts, ids or
    users."""


class Rag(Group):
    """Retrieval and the context block."""

    token_budget: int = Field(50_000, ge=1, le=1_000_000)
    """Tokens the context block may hold: about 40 % of a 128k window."""
    top_k_max: int = Field(40, ge=1, le=200)
    """Most passages an answer may be given; also the default of `top_k`."""
    similarity_threshold: float = Field(0.2, ge=-1, le=1)
    """Similarity, with a little of words, that a passage must exceed; more where much is in reach."""
    cache_ttl_seconds: float = Field(300, ge=0, le=86_400)
    """Seconds a retrieval is kept; 0 turns the cache off."""
    timeout_seconds: float = Field(6, gt=0, le=600)
    """Seconds all sources have together; what has answered by then is used."""
    debug_mode: bool | None = None
    """Show candidates, scores and the prompt in replies. Unset: on while open on loopback, else off."""
    model: str | None = None
    """Chat model of /rag/query, and of /api/chat where CHAT_MODEL and CHAT_BASE_URL are unset. Unset:
    gpt-5.2, or where CHAT_BASE_URL is set the same as CHAT_MODEL."""
    rewrite: bool = False
    """Let the chat model reword and split the question, to search for more than its own words. Costs one
    short answer of the model a search, within 0.4 of RAG_TIMEOUT_SECONDS; without a model, nothing."""


class Exact(Group):
    """Exact search in memory."""

    max_mb: int = Field(160, ge=0, le=1_000_000)
    """MiB of vectors up to which a session, a user, a collection or a project is searched exactly; beyond,
    its engine is asked for the nearest. 160 are 109,000 passages at 384 dimensions. 0: engines alone."""


class Index(Group):
    """The indexes in memory."""

    cache_mb: int = Field(1_024, ge=1, le=1_000_000)
    """MiB that all indexes together may take; the least recently used are dropped first."""


class OpenAI(Group):
    """An OpenAI-protocol server for chat and embeddings alike."""

    api_key: Key | None = None
    """Key. Unset (and no base URLs): bundled embeddings and the extractive answerer."""
    base_url: Url | None = None
    """Base URL, `/v1` included. Unset: the vendor's own."""


class Chat(Group):
    """The model that writes the answers."""

    base_url: Url | None = None
    """Chat server, `/v1` included (vLLM, Ollama, llama.cpp, …). Unset: OPENAI_BASE_URL."""
    api_key: Key | None = None
    """Its key. Unset: OPENAI_API_KEY."""
    model: str | None = None
    """Unset: Jinx-gpt-oss-20b when CHAT_BASE_URL is set, else RAG_MODEL or what that stands for."""
    context_tokens: int = Field(128_000, ge=512, le=10_000_000)
    """Tokens the model's window holds."""
    history_tokens: int = Field(8_000, ge=0, le=1_000_000)
    """Tokens of earlier turns, newest whole turns first."""
    answer_tokens: int = Field(4_096, ge=16, le=200_000)
    """Tokens of the window kept free for the answer, and the most it may have."""
    timeout_seconds: float = Field(60, gt=0, le=3_600)
    """Seconds of silence, before the first byte and between two deltas. Not a limit of the whole answer."""

    @property
    def answer_reserve(self) -> int:
        """CHAT_ANSWER_TOKENS, but never more than half of the window."""
        return min(self.answer_tokens, self.context_tokens // 2)


class Embed(Group):
    """The model that makes the vectors."""

    base_url: Url | None = None
    """Embedding server, `/v1` included. Unset: OPENAI_BASE_URL."""
    api_key: Key | None = None
    """Its key. Unset: OPENAI_API_KEY."""
    model: str | None = None
    """Unset: the space in the stores; else text-embedding-3-large with a key; else the bundled one."""
    dim: int | None = Field(None, ge=8, le=16_000)
    """Dimensions asked for. Unset: 1536 for text-embedding-3-large, else what the model gives."""


class Postgres(Group):
    """The record of everything Ibid writes."""

    dsn: SecretStr | None = None
    """postgresql://… of a server with pgvector. Unset: the embedded one."""


class ChromaSettings(Group):
    """The index of documents."""

    url: Url | None = None
    """http(s)://… of a Chroma server. Unset: embedded under IBID_DATA_DIR."""


class QdrantSettings(Group):
    """The index of memories and reference collections."""

    url: Url | None = None
    """http(s)://… of a Qdrant server or cluster, 1.19 or newer. Unset: embedded under IBID_DATA_DIR."""
    api_key: Key | None = None
    """Its key."""


class CacheSettings(Group):
    """A cache that the replicas share."""

    url: SecretStr | None = None
    """redis://… or rediss://… (Valkey or Redis), with its password. Unset: in this process alone."""


class DocumentLimits(Group):
    """What may be uploaded."""

    max_mb: int = Field(200, ge=1, le=4_096)
    """MiB of one file."""
    max_pages: int = Field(5_000, ge=1, le=100_000)
    """Pages of one PDF."""
    memory_mb: int = Field(1_024, ge=256, le=65_536)
    """MiB of memory a worker process may use to read one PDF."""
    timeout_seconds: float = Field(120, gt=0, le=3_600)
    """Seconds a worker process may take to read one PDF."""


class Retrieve(Group):
    """Memories and reference collections."""

    threshold: float = Field(0.30, ge=-1, le=1)
    """Similarity a passage of the corpus must exceed."""


class Corpus(Group):
    """The reference collections to search."""

    collections: str | None = None
    """Comma-separated names that narrow the list. Unset: all of the tenant's."""


class MemorySettings(Group):
    """An outside memory service."""

    service_url: Url | None = None
    """An outside /memory_feedback and /temporal, for the tenant `default`. Unset: built in."""


class Rerank(Group):
    """A second stage, which reads question and text together."""

    url: Url | None = None
    """A `/rerank` server (Cohere, Jina, vLLM, llama.cpp, TEI), with that path or without. Unset: none."""
    api_key: Key | None = None
    """Its key; no other server's is sent there."""
    model: str | None = None
    """Its model, where it has several."""


class Enable(Group):
    """Parts that are off by default."""

    vantage_endpoints: bool = False
    """1 turns the /vantage routes on; else they are 404."""


class Vantage(Group):
    """The policy of /vantage/query."""

    debug: bool = False
    """Replies of /vantage/query carry `debug`, and in `meta` the descriptors, the split and timings."""
    personal_memory: bool = False
    """1 lets /vantage/query search personal memory."""
    model: str | None = None
    """Chat model of /vantage/query. Unset: gpt-5.2, or where CHAT_BASE_URL is set the same as CHAT_MODEL."""
    risk_url: Url | None = None
    """An OpenAI-protocol moderation endpoint, or a guard model (ending in /chat/completions). Unset: none."""
    risk_api_key: Key | None = None
    """Its key; no other server's is sent there."""
    risk_model: str | None = None
    """Its model, where it has several."""


class Feedback(Group):
    """The classifier of feedback in words."""

    model: str | None = None
    """Model that names a sentiment in one word. Unset: gpt-4o-mini, or where CHAT_BASE_URL is set the same
    as CHAT_MODEL."""


OWN_PREFIXES = ("IBID_", "RAG_", "VANTAGE_")
ENCODING = "utf-8-sig"
"""Of `.env`: editors on Windows put a mark in front, which would become part of the first name."""
SCRATCH = "tmp"
"""Folder of temporary files in IBID_DATA_DIR: beside what they hold, not where everybody's are."""
OURS = "ibid-"
"""How the name of each begins."""
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class Settings(BaseSettings):
    """All of them. Build one with `load()`; pass it on; never read the environment elsewhere."""

    model_config = SettingsConfigDict(
        env_nested_delimiter="_",
        env_nested_max_split=1,
        env_file_encoding=ENCODING,
        extra="ignore",
        frozen=True,
    )

    ibid: Ibid = Ibid()
    rag: Rag = Rag()
    exact: Exact = Exact()
    index: Index = Index()
    openai: OpenAI = OpenAI()
    chat: Chat = Chat()
    embed: Embed = Embed()
    postgres: Postgres = Postgres()
    chroma: ChromaSettings = ChromaSettings()
    qdrant: QdrantSettings = QdrantSettings()
    cache: CacheSettings = CacheSettings()
    document: DocumentLimits = DocumentLimits()
    retrieve: Retrieve = Retrieve()
    corpus: Corpus = Corpus()
    memory: MemorySettings = MemorySettings()
    rerank: Rerank = Rerank()
    enable: Enable = Enable()
    vantage: Vantage = Vantage()
    feedback: Feedback = Feedback()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - pydantic-settings calls it with all five
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Options of the command line, then the environment, then `.env`: each only by our own names."""
        for source in (env_settings, dotenv_settings):
            if isinstance(source, EnvSettingsSource):
                source.env_vars = ours(source.env_vars)
        return init_settings, env_settings, dotenv_settings

    @property
    def loopback(self) -> bool:
        """True if only this machine can reach the service."""
        return self.ibid.host in LOOPBACK

    @property
    def scratch(self) -> Path:
        """Folder of temporary files, emptied when the data folder is taken."""
        return self.ibid.data_dir / SCRATCH


def names() -> list[str]:
    """Every environment name there is, grouped as in `.env.example`."""
    found: list[str] = []
    for group, field in Settings.model_fields.items():
        model = field.annotation
        if isinstance(model, type) and issubclass(model, BaseModel):
            found += [f"{group}_{name}".upper() for name in model.model_fields]
    return found


def where_given(env_file: Path | None = Path(".env")) -> dict[str, str]:
    """Of each setting that is given: `environment` or `.env`, by its name."""
    given = dict.fromkeys(ours(written(env_file)), ".env") | dict.fromkeys(ours(os.environ), "environment")
    return {name.upper(): origin for name, origin in given.items()}


def ours(present: Mapping[str, str | None]) -> dict[str, str | None]:
    """The settings among environment variables, by lower-case names, without blanks and empty ones.

    A foreign `CACHE` or `MEMORY` would otherwise be parsed as JSON for a whole group.
    """
    known = set(names())
    found = {name.lower(): (value or "").strip() for name, value in present.items() if name.upper() in known}
    return {name: value for name, value in found.items() if value}


@dataclass(frozen=True, slots=True)
class Telemetry:
    """What the standard OTEL_* variables ask for; the SDK reads the others itself, from the environment."""

    traces: bool
    protocol: str
    named: bool
    """True if they name the service."""


def telemetry() -> Telemetry:
    known = {name: value.strip() for name, value in os.environ.items() if name.startswith("OTEL_")}
    exporters = known.get("OTEL_TRACES_EXPORTER", "").lower()
    endpoint = known.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or known.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    protocol = known.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or known.get("OTEL_EXPORTER_OTLP_PROTOCOL")
    asked = "otlp" in listed(exporters) if exporters else bool(endpoint)
    return Telemetry(
        traces=asked and known.get("OTEL_SDK_DISABLED", "").lower() != "true",
        protocol=protocol or "http/protobuf",
        named=bool(known.get("OTEL_SERVICE_NAME"))
        or "service.name=" in known.get("OTEL_RESOURCE_ATTRIBUTES", ""),
    )


def misspelt(present: Iterable[str]) -> tuple[list[str], list[str]]:
    """(errors, warnings): unknown names of our own prefixes, and near misses of others."""
    known = names()
    unknown = [name for name in present if name.upper() not in known]
    errors = [hint(name, known, 0.6) for name in unknown if name.upper().startswith(OWN_PREFIXES)]
    foreign = [name for name in unknown if not name.upper().startswith(OWN_PREFIXES)]
    near = [hint(name, known, 0.9) for name in foreign if close(name, known, 0.9)]
    return errors, near


def close(name: str, known: list[str], cutoff: float) -> list[str]:
    """The name that was meant, if there is one. Small letters count like capitals, as when it is read."""
    return difflib.get_close_matches(name.upper(), known, 1, cutoff)


def hint(name: str, known: list[str], cutoff: float) -> str:
    """`RAG_TOPK_MAX (did you mean RAG_TOP_K_MAX?)`."""
    meant = close(name, known, cutoff)
    return f"{name} (did you mean {meant[0]}?)" if meant else name


def load(env_file: Path | None = Path(".env"), **overrides: object) -> tuple[Settings, list[str]]:
    """Settings from the environment and `.env`, and warnings to log. Raises `StartError`."""
    errors, warnings = misspelt([*os.environ, *written(env_file)])
    if errors:
        raise StartError("unknown setting: " + ", ".join(sorted(set(errors))))
    try:
        return Settings(_env_file=env_file, **overrides), warnings  # type: ignore[arg-type] # kwargs are groups
    except ValidationError as error:
        raise StartError("; ".join(fault_lines(error))) from None


def written(env_file: Path | None) -> Mapping[str, str | None]:
    """What `.env` holds; nothing if it is not there."""
    if env_file is None or not env_file.is_file():
        return {}
    try:
        return dotenv_values(env_file, encoding=ENCODING)
    except (OSError, UnicodeDecodeError) as error:
        raise StartError(f"{env_file} cannot be read: {type(error).__name__}") from None


def fault_lines(error: ValidationError) -> list[str]:
    """Each fault with the environment's name; values are left out, they may be secrets."""
    faults = error.errors(include_input=False, include_url=False)
    return [f"{'_'.join(map(str, fault['loc'])).upper()}: {plainly(fault)}" for fault in faults]


def plainly(fault: ErrorDetails) -> str:
    """What is wrong, where pydantic's own words are about types or patterns."""
    match fault["type"]:
        case "too_short":
            return f"must have at least {fault['ctx']['min_length']} characters"
        case "string_pattern_mismatch" if fault["ctx"]["pattern"] == RATE:
            return "must be a number per second, minute, hour or day, such as 120/minute"
        case "string_pattern_mismatch" if "://" in fault["ctx"]["pattern"]:
            return "must be an address such as http://127.0.0.1:8001"
        case _:
            return fault["msg"]
