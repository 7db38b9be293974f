"""Settings: reads every knob of `app/knobs.py` from the environment, once. The only reader of it.

Sources: the process environment, then `.env`. Blanks around a value do not count, an empty one is unset.
A misspelt name of ours stops the start with its name, so does a value out of range. Raises `StartError`.
"""

import difflib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from dotenv import dotenv_values
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from app.domain.errors import StartError
from app.knobs import (
    Cache,
    Chat,
    Chroma,
    Corpus,
    DocumentLimits,
    Embed,
    Enable,
    Exact,
    Feedback,
    Group,
    Ibid,
    Index,
    Memory,
    OpenAI,
    Postgres,
    Qdrant,
    Rag,
    Rerank,
    Retrieve,
    Vantage,
)

__all__ = [
    "LOOPBACK",
    "OURS",
    "SCRATCH",
    "Cache",
    "Chat",
    "Chroma",
    "Corpus",
    "DocumentLimits",
    "Embed",
    "Enable",
    "Exact",
    "Feedback",
    "Group",
    "Ibid",
    "Index",
    "Memory",
    "OpenAI",
    "Postgres",
    "Qdrant",
    "Rag",
    "Rerank",
    "Retrieve",
    "Settings",
    "Vantage",
    "load",
    "misspelt",
    "names",
]

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
    chroma: Chroma = Chroma()
    qdrant: Qdrant = Qdrant()
    cache: Cache = Cache()
    document: DocumentLimits = DocumentLimits()
    retrieve: Retrieve = Retrieve()
    corpus: Corpus = Corpus()
    memory: Memory = Memory()
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
        """Whether only this machine can reach the service."""
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


def ours(present: Mapping[str, str | None]) -> dict[str, str | None]:
    """The settings among environment variables, by their small names, without blanks and empty ones.

    A `CACHE` or `MEMORY` that somebody else set would be taken for a whole group, and read as JSON.
    """
    known = set(names())
    found = {name.lower(): (value or "").strip() for name, value in present.items() if name.upper() in known}
    return {name: value for name, value in found.items() if value}


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
        raise StartError("; ".join(told(error))) from None


def written(env_file: Path | None) -> Mapping[str, str | None]:
    """What `.env` holds; nothing if it is not there."""
    if env_file is None or not env_file.is_file():
        return {}
    try:
        return dotenv_values(env_file, encoding=ENCODING)
    except (OSError, UnicodeDecodeError) as error:
        raise StartError(f"{env_file} cannot be read: {type(error).__name__}") from None


def told(error: ValidationError) -> list[str]:
    """Each fault with the environment's name; values are left out, they may be secrets."""
    faults = error.errors(include_input=False, include_url=False)
    return [f"{'_'.join(map(str, fault['loc'])).upper()}: {plainly(fault)}" for fault in faults]


def plainly(fault: ErrorDetails) -> str:
    """What is wrong, where pydantic's own words are about types or patterns."""
    match fault["type"]:
        case "too_short":
            return f"must have at least {fault['ctx']['min_length']} characters"
        case "string_pattern_mismatch" if "://" in fault["ctx"]["pattern"]:
            return "must be an address such as http://127.0.0.1:8001"
        case _:
            return fault["msg"]
