"""`as_of`, `since` and what changed, through the whole service: a scripted history against snapshots that
were taken on the way."""

import random
from datetime import UTC, datetime
from typing import Any, NamedTuple

import httpx
import pytest

from tests.fakes.pdfs import text_pdf
from tests.fakes.process import Service

Json = dict[str, Any]
WORDS = ("larch", "heron", "copper", "violin", "harbour", "saffron")
LISTS = {"memories": "/memories", "documents": "/api/documents"}


class Snapshot(NamedTuple):
    at: str
    memories: list[Json]
    documents: list[Json]


def now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


class Story:
    """One user's memories, cards and documents, changed step by step."""

    def __init__(self, service: Service, user: str) -> None:
        self.client, self.service, self.user = service.client, service, user
        self.snapshots = [self.snapshot()]

    def snapshot(self) -> Snapshot:
        return Snapshot(now(), self.listed("memories"), self.listed("documents"))

    def pages(self, path: str, **asked: Any) -> list[Json]:
        found, cursor = [self.page(path, **asked)], None
        while cursor := found[-1]["next"]:
            found.append(self.page(path, **asked, cursor=cursor))
        return found

    def page(self, path: str, **asked: Any) -> Json:
        response = self.client.get(path, params=asked)
        assert response.status_code == 200, response.text
        return dict(response.json())

    def listed(self, kind: str, **asked: Any) -> list[Json]:
        whose = {"user_id": self.user} if kind == "memories" else {"session_id": self.user}
        return [item for page in self.pages(LISTS[kind], **whose, **asked) for item in page["items"]]

    def gone(self, kind: str, **asked: Any) -> list[Json]:
        whose = {"user_id": self.user} if kind == "memories" else {"session_id": self.user}
        return [item for page in self.pages(LISTS[kind], **whose, **asked) for item in page["gone"]]

    def say(self, text: str) -> None:
        body = {"user_id": self.user, "text": text, "created_at": "2021-03-04T10:00:00Z"}
        assert self.client.post("/memories", json=body).is_success

    def forget(self, text: str) -> None:
        [found] = [item for item in self.listed("memories") if item["text"] == text]
        assert self.client.delete(f"/memories/{found['id']}").status_code == 204

    def say_again(self, text: str) -> None:
        """The same words have the same id."""
        self.forget(text)
        self.say(text)

    def vote(self, signal: int) -> None:
        body = {"user_id": self.user, "memory_id": self.listed("memories")[0]["id"], "signal": signal}
        assert self.client.post("/memory_feedback", json=body).is_success

    def compute_cards(self) -> None:
        assert self.client.post("/profiles", json={"user_id": self.user}).is_success

    def upload(self, name: str, text: str) -> None:
        form = {"session_id": self.user, "user_id": self.user, "replace": "true"}
        assert self.service.upload(name, text_pdf(text), **form).status_code in (200, 201)

    def drop(self, name: str) -> None:
        [found] = [item for item in self.listed("documents") if item["filename"] == name]
        assert self.client.delete(f"/api/documents/{found['id']}").status_code == 204

    def step(self, rng: random.Random) -> None:
        """A change that is possible now, then a snapshot."""
        texts = [item["text"] for item in self.listed("memories") if item["origin"] == "api"]
        files = [item["filename"] for item in self.listed("documents")]
        steps: list[Any] = [
            lambda: self.say(f"I saw the {rng.choice(WORDS)} of {rng.randrange(1900, 2000)}.")
        ]
        steps.append(lambda: self.upload(f"{rng.choice(WORDS[:2])}.pdf", f"On {rng.random()} {WORDS[2]}s."))
        if texts:
            steps += [lambda: self.forget(rng.choice(texts)), lambda: self.vote(1), self.compute_cards]
            steps.append(lambda: self.say_again(texts[0]))
        if files:
            steps.append(lambda: self.drop(rng.choice(files)))
        rng.choice(steps)()
        self.snapshots.append(self.snapshot())


@pytest.fixture(scope="module")
def story(house: Service) -> Story:
    told, rng = Story(house, "history-ada"), random.Random(7)  # noqa: S311 - the same story each time
    told.say("I always write about music and rehearse the violin every day.")
    told.upload("heron.pdf", "Herons wait.")
    told.snapshots.append(told.snapshot())
    for _ in range(16):
        told.step(rng)
    return told


def test_the_list_as_of_any_time_is_what_was_stored_then(story: Story) -> None:
    """Entry by entry where it is still stored; of the others id and times, and nothing else."""
    replaced = 0
    for snapshot in story.snapshots:
        for kind, then in (("memories", snapshot.memories), ("documents", snapshot.documents)):
            found = story.listed(kind, as_of=snapshot.at, limit=2)
            gone = story.gone(kind, as_of=snapshot.at, limit=2)

            assert [item for item in then if item["id"] in {each["id"] for each in found}] == found
            assert {item["id"]: item["created_at"] for item in then if item not in found} == {
                item["id"]: item["created_at"] for item in gone
            }
            assert all(set(item) == {"id", "created_at", "deleted_at", "replaced"} for item in gone)
            assert all(item["deleted_at"] > snapshot.at for item in gone)
            replaced += sum(item["replaced"] for item in gone)
    assert replaced  # cards were


def test_since_tells_what_came_and_went(story: Story) -> None:
    """What is stored now and was not then, and the ids of what was stored then and is not now."""
    for snapshot in story.snapshots:
        now = story.snapshots[-1]
        for kind, then, here in (
            ("memories", snapshot.memories, now.memories),
            ("documents", snapshot.documents, now.documents),
        ):
            found = [each["id"] for each in story.listed(kind, since=snapshot.at, limit=2)]
            assert set(found) >= {each["id"] for each in here if each not in then}
            assert len(found) == len(set(found))
            lost = {each["id"] for each in then} - {each["id"] for each in here}
            gone = {each["id"] for each in story.gone(kind, since=snapshot.at, limit=2)}
            assert lost <= gone
            assert not gone & {each["id"] for each in here}


def test_changes_lead_from_any_snapshot_to_the_last(story: Story) -> None:
    """In pages, oldest first; with what is new or changed, and without what is gone."""
    path = f"/users/{story.user}/changes"
    for snapshot in story.snapshots:
        changes = [each for page in story.pages(path, since=snapshot.at, limit=3) for each in page["items"]]
        assert [each["at"] for each in changes] == sorted(each["at"] for each in changes)
        known = {each["id"] for each in (*snapshot.memories, *snapshot.documents)}
        for change in changes:
            if change["change"] == "new":
                assert change["kind"] == "memory" or change["id"] not in known
            known = known - {change["id"]} if change["change"] == "gone" else known | {change["id"]}
        last = story.snapshots[-1]
        assert {each["id"] for each in (*last.memories, *last.documents)} <= known
        mine = {each["id"] for each in changes if each["change"] == "gone"}
        assert not mine & {each["id"] for each in (*last.memories, *last.documents)}
    end = story.page(path, since=snapshot.at)["until"]
    assert story.page(path, since=end)["items"] == []


def test_answers_are_new_and_their_session_goes(house: Service) -> None:
    user, session = "history-bob", "history-talk"
    before = house.client.get(f"/users/{user}/changes").json()["until"]
    said = house.chat("Which bird waits?", session_id=session, user_id=user)
    asked = f"/users/{user}/changes"

    def seen() -> list[tuple[str, str, str]]:
        found = house.client.get(asked, params={"since": before}).json()["items"]
        return [(each["kind"], each["id"], each["change"]) for each in found if each["session_id"] == session]

    assert seen() == [("answer", said["answer_id"], "new")]
    assert house.client.delete(f"/api/sessions/{session}").status_code == 204
    assert seen() == [("session", session, "gone")]


def test_an_erasure_leaves_no_trace(house: Service) -> None:
    """Neither of what was deleted before nor of what it deletes."""
    story = Story(house, "history-eve")
    before = story.snapshots[0].at
    story.say("I keep bees.")
    story.forget("I keep bees.")
    story.say("I keep goats.")
    story.upload("goats.pdf", "Goats climb.")
    house.chat("Do goats climb?", session_id=story.user, user_id=story.user)
    assert len(story.gone("memories", since=before)) == 1

    receipt = house.client.delete(f"/users/{story.user}").json()

    assert receipt["counts"]["history"] == 1
    for kind in LISTS:
        assert story.gone(kind, since=before) == story.listed(kind, since=before) == []
    changes = story.page(f"/users/{story.user}/changes", since=before)["items"]
    assert [each for each in changes if each["session_id"] or each["kind"] == "memory"] == []


@pytest.mark.parametrize("path", ["/memories", "/api/documents", "/users/u/changes"])
@pytest.mark.parametrize("time", ["yesterday", "2026-11-21", "2026-02-30T00:00:00Z", "2026-11-21T10:00:00"])
def test_a_malformed_time_is_refused(house: Service, path: str, time: str) -> None:
    whose = {"user_id": "u"} if path == "/memories" else {}
    for name in ("since", "as_of") if "changes" not in path else ("since",):
        response = house.client.get(path, params={**whose, name: time})
        assert response.status_code == 422
        assert response.json()["errors"][0]["field"] == f"query.{name}"


def test_another_user_sees_none_of_it(house: Service, story: Story) -> None:
    for path in ("/memories", "/users/history-zoe/changes"):
        asked: Json = {"since": story.snapshots[0].at}
        asked |= {"user_id": "history-zoe"} if path == "/memories" else {}
        page: httpx.Response = house.client.get(path, params=asked)
        ours = {each["id"] for each in story.snapshots[-1].memories}
        shown = [*page.json()["items"], *page.json().get("gone", [])]
        assert [each for each in shown if each["id"] in ours or each.get("session_id") == story.user] == []
