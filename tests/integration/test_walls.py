"""Nothing is seen across sessions, users or tenants: by no id, label, answer or error text."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.fakes.pdfs import text_pdf
from tests.fakes.process import Service, ibid, service

SECRET = text_pdf("The vault code of the northern office is 7731 octopus.", title="Vault papers")
QUESTION = "What is the vault code of the northern office?"


@dataclass
class Keys:
    """One key of each kind."""

    acme: str
    ada: str
    bob: str
    zeta: str


def created(folder: Path, *arguments: str, **settings: str) -> str:
    """A key made by the command line while the service runs."""
    out = ibid(folder, "keys", "create", *arguments, **settings)
    return next(word for word in out.out.split() if word.startswith("ibid_"))


@pytest.fixture(scope="module")
def walls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, Keys]]:
    """A service with keys of two tenants and two users."""
    folder = tmp_path_factory.mktemp("walls") / "data"
    with service(folder, IBID_BOOTSTRAP_KEY="bootstrap-9f3c71e0b28d46a5") as running:
        keys = Keys(
            created(folder, "--tenant", "acme"),
            created(folder, "--tenant", "acme", "--user", "ada"),
            created(folder, "--tenant", "acme", "--user", "bob"),
            created(folder, "--tenant", "zeta"),
        )
        yield running, keys


def client(running: Service, key: str) -> httpx.Client:
    """A client with a key."""
    return httpx.Client(base_url=running.lock.url, headers={"Authorization": f"Bearer {key}"}, timeout=60)


def upload(who: httpx.Client, **form: str) -> dict[str, Any]:
    """The secret, uploaded."""
    response = who.post("/api/documents", files={"file": ("vault.pdf", SECRET)}, data=form)
    assert response.status_code in (200, 201), response.text
    return dict(response.json())


def test_without_a_key_nothing_opens(walls: tuple[Service, Keys]) -> None:
    """Once there are keys: no key and an unknown key are 401 with WWW-Authenticate."""
    running, _ = walls
    for headers in ({}, {"Authorization": "Bearer ibid_acme_nonsense"}, {"Authorization": "Basic eDp5"}):
        response = running.client.get("/api/documents", headers=headers)
        assert (response.status_code, response.json()["type"]) == (401, "urn:ibid:problem:unauthorized")
        assert "www-authenticate" in response.headers


@pytest.mark.parametrize("other", ["acme", "bob", "zeta"])
def test_a_users_session_is_hers_alone(walls: tuple[Service, Keys], other: str) -> None:
    """Ada's document in session `s` is found by nobody else, under the same session id or by its ids."""
    running, keys = walls
    with client(running, keys.ada) as ada, client(running, getattr(keys, other)) as stranger:
        document = upload(ada, session_id="s")
        path = f"/api/documents/{document['id']}"
        answers = [
            stranger.get(path),
            stranger.get(f"{path}/chunks/1"),
            stranger.get(f"{path}/file"),
            stranger.delete(path),
        ]
        assert [answer.status_code for answer in answers] == [404] * 4
        unknown = stranger.get("/api/documents/0192f0c0-0000-7000-8000-000000000000").json()
        assert {**answers[0].json(), "instance": ""} == {**unknown, "instance": ""}
        body = {"message": QUESTION, "session_id": "s", "stream": False}
        said = stranger.post("/api/chat", json=body)
        assert said.json()["rag"]["reason"] == "empty"
        assert "octopus" not in said.text
        assert "vault.pdf" not in stranger.get("/api/documents?session_id=s").text
        assert ada.post("/api/chat", json=body).json()["rag"]["reason"] == "ok"


def test_another_session_of_the_same_asker_is_empty(walls: tuple[Service, Keys]) -> None:
    """A session's chunks are searched in that session only."""
    running, keys = walls
    with client(running, keys.zeta) as zeta:
        upload(zeta, session_id="one")
        said = zeta.post("/api/chat", json={"message": QUESTION, "session_id": "two", "stream": False}).json()
        assert (said["rag"]["reason"], said["citations"]) == ("empty", [])


def test_global_documents_are_the_tenants_and_written_with_its_key(walls: tuple[Service, Keys]) -> None:
    """A user key may not write them (403) but finds them; another tenant does not."""
    running, keys = walls
    with (
        client(running, keys.acme) as acme,
        client(running, keys.bob) as bob,
        client(running, keys.zeta) as zeta,
    ):
        refused = bob.post("/api/documents", files={"file": ("vault.pdf", SECRET)}, data={"scope": "global"})
        assert (refused.status_code, refused.json()["type"]) == (403, "urn:ibid:problem:forbidden")
        document = upload(acme, scope="global")
        body = {"message": QUESTION, "session_id": "fresh", "stream": False}
        assert bob.post("/api/chat", json=body).json()["rag"]["reason"] == "ok"
        assert zeta.post("/api/chat", json=body).json()["rag"]["reason"] == "empty"
        assert bob.delete(f"/api/documents/{document['id']}").status_code == 403
        assert acme.delete(f"/api/documents/{document['id']}").status_code == 204


def test_a_user_key_acts_for_its_own_user(walls: tuple[Service, Keys]) -> None:
    """Another user_id in the body is 403."""
    running, keys = walls
    body = {"message": "hello out there", "session_id": "s", "user_id": "bob", "stream": False}
    with client(running, keys.ada) as ada:
        assert ada.post("/api/chat", json=body).status_code == 403


def test_debug_is_off_once_there_are_keys(walls: tuple[Service, Keys]) -> None:
    """A service that is not open shows no prompts unless it is told to."""
    running, keys = walls
    with client(running, keys.zeta) as zeta:
        said = zeta.post("/api/chat", json={"message": QUESTION, "session_id": "one", "stream": False}).json()
    assert "debug" not in said


def test_a_strangers_data_changes_nothing(walls: tuple[Service, Keys]) -> None:
    """Ids, order, scores and labels are the same with and without another tenant's documents."""
    running, keys = walls
    body = {"message": QUESTION, "session_id": "still", "stream": False}
    with client(running, keys.acme) as acme, client(running, keys.zeta) as zeta:
        mine = text_pdf(
            ["The northern office has a vault.", "Its code is kept by the warden.", "Octopus stew is served."]
        )
        acme.post("/api/documents", files={"file": ("office.pdf", mine)}, data={"session_id": "still"})
        before = acme.post("/api/chat", json=body).json()
        for n in range(5):
            noise = text_pdf(f"The vault code of office {n} is kept in the northern tower with the octopus.")
            zeta.post("/api/documents", files={"file": (f"n{n}.pdf", noise)}, data={"session_id": "still"})
            zeta.post("/api/documents", files={"file": (f"g{n}.pdf", noise)}, data={"scope": "global"})
        after = acme.post("/api/chat", json=body).json()
    assert before["citations"] == after["citations"]
    assert before["answer"] == after["answer"]
