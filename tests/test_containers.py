"""The container files held against the service they run: no engine is here, so what can be read is read, and
what can be run without one (the health checks) is run.
"""

import fnmatch
import json
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from app.settings import LOOPBACK, load, names
from app.settings import OWN_PREFIXES as OURS

ROOT = Path(__file__).parents[1]
CONTEXT = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and line[0] != "#"]
HOSTS = re.compile(r"https?://(?!127\.0\.0\.1|localhost|chroma\b|qdrant\b)|index-url|trusted-host")
ANSWERS = {"up": (200, 0), "starting": (503, 1), "gone": (404, 1)}


def instructions() -> list[tuple[str, str]]:
    """(word, rest) of each line of the Dockerfile, continued lines joined."""
    text = re.sub(r"(?m)^\s*#.*\n", "", (ROOT / "Dockerfile").read_text())
    lines = re.sub(r"\\\n", " ", text).splitlines()
    return [(line.split()[0], line.partition(" ")[2].strip()) for line in lines if line.strip()]


def all_of(word: str, found: list[tuple[str, str]] | None = None) -> list[str]:
    """What stands after this word, in order."""
    return [rest for name, rest in (instructions() if found is None else found) if name == word]


def last_stage() -> list[tuple[str, str]]:
    lines = instructions()
    at = max(n for n, (word, _) in enumerate(lines) if word == "FROM")
    return lines[at:]


def environment() -> dict[str, str]:
    return dict(pair.split("=", 1) for line in all_of("ENV", last_stage()) for pair in shlex.split(line))


def services() -> dict[str, Any]:
    return dict(compose()["services"])


def compose() -> dict[str, Any]:
    return dict(yaml.safe_load((ROOT / "docker-compose.yml").read_text()))


def sent(path: str) -> bool:
    """True if .dockerignore lets a path of the checkout through: its last match decides."""
    through = True
    for pattern in CONTEXT:
        plain = pattern.removeprefix("!").removeprefix("**/")
        parts = [path, *path.split("/")] if "**/" in pattern else [path, path.split("/", maxsplit=1)[0]]
        if any(fnmatch.fnmatchcase(part, plain) for part in parts):
            through = pattern.startswith("!")
    return through


@contextmanager
def answering(status: int) -> Iterator[HTTPServer]:
    """A server on a free port that answers every GET with this status, and notes the path."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.asked = self.path  # type: ignore[attr-defined] # read by the test
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing on stderr."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def checked(command: list[str], **variables: str) -> int:
    """The exit code of a health check."""
    done = subprocess.run(
        command, env={"PATH": "/usr/bin:/bin", **variables}, capture_output=True, timeout=20, check=False
    )
    return done.returncode


def image_check() -> list[str]:
    """The image's health check, on this interpreter."""
    [line] = all_of("HEALTHCHECK", last_stage())
    command: list[str] = json.loads(line[line.index("[") :])
    assert command[0] == "python"
    return [sys.executable, *command[1:]]


def test_every_base_is_a_slim_python_of_a_version() -> None:
    """Or a stage above it; one that the project runs on."""
    stages: set[str] = set()
    for line in all_of("FROM"):
        base, _, stage = line.partition(" AS ")
        assert base in stages or re.fullmatch(r"python:3\.1[12]-slim-[a-z]+", base), base
        stages.add(stage)
    assert len(stages) > 1, "one stage would leave the build's tools in the image"


def test_the_image_is_not_roots() -> None:
    """The last word is a number other than 0, and it owns /data; nothing is run after it."""
    words = [word for word, _ in last_stage()]
    [user] = all_of("USER", last_stage())
    number = user.split(":")[0]
    assert number.isdigit()
    assert int(number) > 0
    assert f"--uid {number}" in " ".join(all_of("RUN", last_stage()))
    assert set(words[words.index("USER") :]) <= {"USER", "HEALTHCHECK", "ENTRYPOINT", "CMD"}


def test_what_is_copied_is_there_and_sent() -> None:
    """Every source of a COPY is in the checkout and passes .dockerignore."""
    lines = [shlex.split(line) for line in all_of("COPY") if "--from=" not in line]
    sources = [source for line in lines for source in line[:-1]]
    assert {"app", "alembic", "requirements.lock"} <= set(sources)
    assert [source for source in sources if not ((ROOT / source).exists() and sent(source))] == []


@pytest.mark.parametrize(
    ("path", "through"),
    [
        (".env", False),
        (".ibid", False),
        (".git", False),
        (".venv", False),
        ("tests", False),
        ("app/__pycache__", False),
        ("app/api/__pycache__", False),
        ("app/api/chat.py", True),
    ],
)
def test_no_secret_is_sent_to_the_builder(path: str, *, through: bool) -> None:
    """Settings, data and history stay on the machine that builds."""
    assert sent(path) == through


def test_all_that_is_no_module_is_packaged() -> None:
    """The image has no checkout: what the code reads beside itself must be named in pyproject."""
    data = [path for path in (ROOT / "app").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    others = {str(path.relative_to(ROOT).parent) for path in data if path.suffix != ".py"}
    assert others == {"app/api", "app/web", "app/web/vendor", "app/vantage/data"}
    assert (
        'app = ["api/examples.json", "web/*", "web/vendor/*", "vantage/data/*"]'
        in (ROOT / "pyproject.toml").read_text()
    )


def test_dependencies_are_pinned_hashed_wheels() -> None:
    """Each install is held against a lock file, none builds from source, and no address is written down."""
    installs = [part for line in all_of("RUN") for part in line.split("&&") if "pip install" in part]
    assert len(installs) == 3
    assert all("--require-hashes" in part or ".lock" in part for part in installs)
    assert "--only-binary :all: --verify-hashes" in re.sub(r"\s+", " ", installs[1])
    for file in ("Dockerfile", "docker-compose.yml", ".dockerignore"):
        assert not HOSTS.search((ROOT / file).read_text()), file


def test_the_program_gets_the_signals() -> None:
    """Exec form, so that no shell stands between the engine and the service; and the program exists."""
    entry, command = (json.loads(all_of(word, last_stage())[0]) for word in ("ENTRYPOINT", "CMD"))
    assert (entry, command) == (["ibid"], ["serve"])
    assert re.search(r"(?m)^ibid = ", (ROOT / "pyproject.toml").read_text())


def test_the_image_speaks_of_settings_that_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its environment loads, listens everywhere (so a key is needed), and keeps its data in the volume."""
    ours = {name: value for name, value in environment().items() if name.startswith(OURS)}
    for name, value in ours.items():
        monkeypatch.setenv(name, value)
    settings, _ = load(env_file=None)
    assert not settings.loopback
    assert str(settings.ibid.data_dir) in all_of("VOLUME", last_stage())
    assert str(settings.ibid.port) in all_of("EXPOSE", last_stage())


@pytest.mark.parametrize(("status", "code"), ANSWERS.values(), ids=ANSWERS)
def test_the_images_health_check_asks_the_service(status: int, code: int) -> None:
    """0 if /healthz answers 200 on IBID_PORT, else not; no proxy of the environment is asked."""
    with answering(status) as server:
        found = checked(image_check(), IBID_PORT=str(server.server_port), http_proxy="http://127.0.0.1:9")
        assert server.asked == "/healthz"  # type: ignore[attr-defined]
    assert found == code


@pytest.mark.parametrize(("status", "code"), ANSWERS.values(), ids=ANSWERS)
@pytest.mark.parametrize(
    ("name", "port", "path"), [("chroma", 8000, "/api/v2/heartbeat"), ("qdrant", 6333, "/readyz")]
)
def test_a_stores_health_check_asks_the_store(
    name: str, port: int, path: str, status: int, code: int
) -> None:
    """With bash alone, since the image has nothing else: 0 for a 200, 1 for anything else."""
    command = [part.replace("$$", "$") for part in services()[name]["healthcheck"]["test"]]
    assert command[:2] == ["CMD", "bash"]
    with answering(status) as server:
        here = [part.replace(f"/{port} ", f"/{server.server_port} ") for part in command[1:]]
        assert here != command[1:]
        assert (checked(here), server.asked) == (code, path)  # type: ignore[attr-defined]
    assert checked(here) != 0, "nobody listens any more"


@pytest.mark.parametrize("name", services())
def test_each_part_comes_back_and_gains_nothing(name: str) -> None:
    """Restarted unless stopped, no new privileges, and no name that would forbid a second one."""
    part = services()[name]
    assert part["restart"] == "unless-stopped"
    assert "no-new-privileges:true" in part["security_opt"]
    assert "container_name" not in part
    assert "privileged" not in part


def test_the_service_is_given_settings_that_exist() -> None:
    """Each address names a part of the stack; none is misspelt."""
    given = services()["ibid"]["environment"]
    assert set(given) <= set(names())
    named = {key: re.search(r"(?:@|//)([a-z]+):\d+", given[key]) for key in given if "://" in given[key]}
    hosts = {key: match[1] for key, match in named.items() if match}
    assert hosts == {
        "POSTGRES_DSN": "postgres",
        "CHROMA_URL": "chroma",
        "QDRANT_URL": "qdrant",
        "CACHE_URL": "valkey",
    }


def test_without_a_first_key_nothing_starts() -> None:
    """An open service would be reachable by whoever reaches the port."""
    assert services()["ibid"]["environment"]["IBID_BOOTSTRAP_KEY"].startswith("${IBID_BOOTSTRAP_KEY:?")


def test_only_the_service_is_published_and_on_loopback() -> None:
    """Stores are on a network without a way out; ports may be a range, for replicas."""
    published = {name: part["ports"] for name, part in services().items() if "ports" in part}
    assert published == {"ibid": ["${PUBLISHED_ADDRESS:-127.0.0.1}:${PUBLISHED_PORTS:-8000}:8000"]}
    assert "127.0.0.1" in LOOPBACK
    networks = {name: set(part["networks"]) for name, part in services().items()}
    assert networks.pop("ibid") == {"outside", "stores"}
    assert all(found == {"stores"} for found in networks.values())
    assert compose()["networks"]["stores"] == {"internal": True}


def test_what_is_kept_is_on_volumes() -> None:
    """Each store's data is on a declared volume; the service has none of that name, so it can be doubled."""
    mounted = [entry.split(":")[0] for part in services().values() for entry in part.get("volumes", [])]
    assert sorted(mounted) == sorted(compose()["volumes"])
    assert "volumes" not in services()["ibid"]


def test_the_service_writes_to_its_volume_alone() -> None:
    """A read-only file system but for /data and /tmp, and no capability."""
    part = services()["ibid"]
    assert (part["read_only"], part["tmpfs"], part["cap_drop"]) == (True, ["/tmp"], ["ALL"])  # noqa: S108 - the container's
