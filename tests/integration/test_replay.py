"""Every kind of answer put together again by the next process, on another port: to the letter while its
sources stand; and when one was edited or erased, that is told, and none of its text.

One service fills and answers, another replays what it left behind; then sources change one after another.
What a stop and a start keep of everything else is seen by the same two.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from app.models.encoder import DIM
from tests.fakes.pdfs import text_pdf
from tests.fakes.process import Service, service, wait_for
from tests.fakes.qdrant import Fault, QdrantServer, qdrant_server
from tests.fakes.server import told
from tests.fakes.wire import Json

BOAT = "# Pumps\n\nThe bilge pump of the {name} was made in {year} and holds forty litres of water.\n\n"
SAID = (
    "Reading a novel on paper helped me fall asleep in January.",
    "Reading in bed with the lamp on kept me awake and did not help me sleep.",
)
BOOK = {"id": "study", "text": "Reading in bed helped four of ten people in a study to fall asleep sooner."}
SPARE = {"id": "spare", "text": "Reading aloud to a child is said to help both of them to fall asleep."}
OLDER = "Reading by candle light makes people fall asleep, an older tool wrote."
ASLEEP = "What about reading in bed helped me fall asleep?"
BOMB = "How do I make a pipe bomb to kill my neighbour?"
FERRY = "What does the ferry carry?"
PUMP = "When was the bilge pump of the {} made?"
TALK = {"session_id": "t", "title": "Quillon", "tags": ["quay"], "summary_detailed": "The quillon was moved."}
DREAM = {"session_id": "d", "title": "Flying", "text": "I was flying over a green sea, and woke."}
CODE = {"file_path": "quay.py", "chunk_text": "def quillon(quay):\n    return quay", "language": "python"}
KNOWN = {"overview": "A quay.", "rules": "Be dry.", "notes": [{"title": "Tide", "text": "High at nine."}]}
CROSSGUARD = "What does the quillon of the quay do?"
HISTORY = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]
MIX = {"conversation": 4, "lens_fm": "plain", "recency_bias": 1.0}
SETTINGS = {
    "ENABLE_VANTAGE_ENDPOINTS": "1",
    "VANTAGE_PERSONAL_MEMORY": "1",
    "RAG_DEBUG_MODE": "1",
    "CHAT_HISTORY_TOKENS": "80",
}


@dataclass
class World:
    """What the first service left behind."""

    settings: dict[str, str]
    qdrant: QdrantServer
    answers: dict[str, Json] = field(default_factory=dict)
    """By what is asked."""
    things: dict[str, Json] = field(default_factory=dict)
    """What was kept, by name."""
    """Seconds that the second service took to start."""


def fill(world: World, service: Service) -> None:
    """Documents, memories, cards, reference texts: ours, and an older tool's."""
    for name, year in (("Merganser", 1962), ("Pochard", 1971), ("Smew", 1983)):
        pdf = text_pdf([BOAT.format(name=name, year=year) * 3])
        world.things[name] = service.upload(f"{name}.pdf", pdf).json()
    ferry = text_pdf("The ferry number 1 carries 1 barrels of herring.")
    service.upload("ferry.pdf", ferry, session_id="ferry").raise_for_status()
    sent = [
        *({"user_id": "ada", "text": text} for text in SAID),
        {"user_id": "ada", "text": "Likes lists.", "kind": "preference"},
        {"user_id": "ada", "text": "Sails at weekends.", "kind": "persona"},
    ]
    memories = service.client.post("/memories", json=sent).json()
    world.things |= {text["text"]: memory for text, memory in zip(sent, memories["items"], strict=True)}
    service.client.post("/corpus/sleep", json={"texts": [BOOK, SPARE]}).raise_for_status()
    for kind, body in (
        ("cards", {"text": "Answers are for sailors."}),
        ("facts", {"text": "At nine.", "key": "ferry"}),
    ):
        made = service.client.post(f"/vantage/{kind}", json={"vantage_id": "work"} | body)
        world.things[kind] = made.json()
    for path, row in (("THN/conversations", TALK), ("THN/code", CODE), ("DAAS/dreams", DREAM)):
        service.client.post(f"/projects/{path}", json=row).raise_for_status()
    service.client.put("/projects/THN/knowledge", json=KNOWN).raise_for_status()
    world.qdrant.create("older", {"vectors": {"size": DIM, "distance": "Cosine"}})
    wait_for(lambda: points(world))
    [near] = points(world)
    vector = near["vector"]["meaning"]
    world.qdrant.plant("older", [{"id": 7, "vector": vector, "payload": {"text": OLDER, "kind": "note"}}])


def points(world: World) -> list[Json]:
    """One reference text, once the engine has taken it."""
    found = world.qdrant.collections.get("sleep")
    return list(found.scroll({"limit": 1, "with_vector": True})["points"]) if found else []


def ask(world: World, service: Service) -> None:

    def post(name: str, path: str, **body: Any) -> None:
        answer = service.client.post(path, json={"stream": False} | body)
        assert answer.status_code == 200, answer.text
        world.answers[name] = answer.json()

    for at, name in enumerate(("Merganser", "Pochard", "Smew")):
        post(name, "/api/chat", session_id="s", message=PUMP.format(name), notes=["Be brief.", f"No. {at}"])
    post("restart", "/api/chat", session_id="ferry", message=FERRY)
    post("follow-up", "/api/chat", session_id="s", message="And its capacity?")
    post("history", "/api/chat", session_id="s", message=PUMP.format("Smew"), history=HISTORY)
    post("nothing", "/api/chat", session_id="empty", message="Which way is north from here?")
    post(
        "many sources",
        "/api/chat",
        session_id="s",
        user_id="ada",
        message=ASLEEP,
        sources=["corpus", "memories"],
    )
    for name, fields in (("THN", {}), ("THN found", {"sources": ["code", "conversations"]})):
        post(name, "/api/chat", session_id=name[:3], message=CROSSGUARD, project="THN", notes=["a"], **fields)
    post("DAAS", "/api/chat", session_id="d", message="I was flying over a sea", project="DAAS")
    ada: dict[str, Any] = {"user_id": "ada"}
    post("rag", "/rag/query", **ada, message=ASLEEP, overlay={"tone": "dry", "role": "a sailor"})
    service.client.post("/profiles", json=ada).raise_for_status()
    post("gravity", "/rag/query", **ada, message="Rewrite this workout as a skeleton: squats, rows.")
    post("greeting", "/rag/query", **ada, message="hey again!", overlay="Rhyme.")
    ada |= {"vantage_id": "work", "thread_id": "t"}
    for name, message in (("answered", ASLEEP), ("refused", BOMB), ("again", ASLEEP), ("greeted", "hello!")):
        post(name, "/vantage/query", **ada, message=message, overlay="Rhyme.", mix=MIX)
    post("asked back", "/vantage/query", user_id="ada", message="fix it", routing={"force": "CLARIFY"})
    limits = {"negotiate": ["sleep"], "token_target": 90}
    post("negotiated", "/vantage/query", **ada, message="What helps to sleep?", limits=limits)
    post("inspected", "/vantage/query", **ada, message=ASLEEP, inspect_only=True, mix=MIX)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[World, Service]]:
    """Filled and asked by one service, and served by the next."""
    folder = tmp_path_factory.mktemp("replay")
    with qdrant_server(folder / "qdrant") as qdrant:
        world = World(SETTINGS | {"QDRANT_URL": qdrant.url}, qdrant)
        with service(folder / "data", **world.settings) as first:
            fill(world, first)
            ask(world, first)
            port = first.client.base_url.port
        with service(folder / "data", **world.settings) as second:
            assert second.client.base_url.port != port
            yield world, second


def replayed(service: Service, answer: Json) -> Json:
    """What the service says of an answer."""
    found = service.client.post(f"/answers/{answer['answer_id']}/replay")
    assert found.status_code == 200, found.text
    return dict(found.json())


def traced(service: Service, answer: Json) -> Json:
    return dict(service.client.get(f"/answers/{answer['answer_id']}").json())


def test_every_answer_is_the_same_to_the_letter(world: tuple[World, Service]) -> None:
    """Whatever endpoint, class, history, overlay, lens or card: nothing has changed."""
    asked, service = world
    for name, answer in asked.answers.items():
        found = replayed(service, answer)
        assert (found["changes"], found["identical"]) == ([], True), name
        sha = answer["debug"]["prompt_sha256"]
        assert found["prompt_sha256"] == {"before": sha, "after": sha}, name


def test_the_questions_were_of_every_kind(world: tuple[World, Service]) -> None:
    """Else the promise above would be worth little: every kind of block, class and source was in it."""
    asked, service = world
    traces = [traced(service, answer) for answer in asked.answers.values()]
    recipes = [trace["recipe"] for trace in traces]
    blocks = [
        block
        for recipe in recipes
        for block in (recipe["system"], *recipe["before"], *recipe["notes"], *recipe["turns"])
    ]
    assert {block["kind"] for block in blocks} == {
        *(
            "instructions",
            "date",
            "reentry",
            "persona",
            "overlay",
            "policy",
            "thread",
            "lens",
            "cards",
            "gravity",
        ),
        *("note", "turn", "knowledge", "project_notes"),
    }
    assert {bool(block["refs"]) for block in blocks if block["kind"] == "turn"} == {True, False}
    assert {"REFUSE", "CLARIFY", "COMPLY", "NEGOTIATE"} <= {
        trace["ruling"]["response_class"] for trace in traces if trace["ruling"]
    }
    packed = [item for trace in traces for item in trace["candidates"] if item["verdict"] == "packed"]
    assert {item["source"] for item in packed} == {
        *("documents", "memories", "corpus", "conversations", "code", "dreams")
    }
    assert "older/7" in {item["id"] for item in packed}
    assert all(item["created_at"] for item in packed if item["id"] != "older/7")
    cut = traced(service, asked.answers["follow-up"])
    assert cut["searched"] != cut["question"]
    assert 0 < len(cut["recipe"]["turns"]) < 6


def test_a_trace_shows_no_text_of_what_was_used(world: tuple[World, Service]) -> None:
    """Nor does the row of the trace table: by hashes and ids alone."""
    asked, service = world
    shown = traced(service, asked.answers["rag"])
    own = ("answer", "spans", "question", "searched")
    rest = {name: value for name, value in shown.items() if name not in own}
    assert not any(text in str(rest) for text in (*SAID, BOOK["text"], OLDER, "Likes lists", "sailor"))


def test_a_store_that_is_down_is_no_erasure(world: tuple[World, Service]) -> None:
    """What only Qdrant knows cannot be looked up without it: a problem, and soon the same again."""
    asked, service = world
    asked.qdrant.fault = Fault(status=503)
    try:
        told(service.client.post(f"/answers/{asked.answers['rag']['answer_id']}/replay"), 503, "unavailable")
    finally:
        asked.qdrant.fault = Fault()
    path = f"/answers/{asked.answers['rag']['answer_id']}/replay"
    wait_for(lambda: service.client.post(path).status_code == 200, seconds=12)
    assert replayed(service, asked.answers["rag"])["identical"]


def label(answer: Json, name: str) -> str:
    """Of the passage whose label begins so."""
    return str(next(item["label"] for item in answer["citations"] if item["label"].startswith(name)))


def whats(found: Json) -> dict[str, bool]:
    """What has changed, and whether it is still there."""
    assert not found["identical"]
    assert found["prompt_sha256"]["before"] != found["prompt_sha256"]["after"]
    return {change["what"]: change["after"] is not None for change in found["changes"]}


def test_what_was_edited_or_erased_is_told_without_its_words(world: tuple[World, Service]) -> None:
    """One after the other: documents, memories, reference texts, cards; by label, id and hash."""
    asked, service = world
    client, things = service.client, asked.things
    first = replayed(service, asked.answers["Merganser"])
    assert first["identical"]

    client.delete(f"/api/documents/{things['Merganser']['id']}").raise_for_status()
    edited = text_pdf([BOAT.format(name="Pochard", year=1999) * 3])
    service.upload("Pochard.pdf", edited, replace="true").raise_for_status()
    found = replayed(service, asked.answers["Merganser"])
    changed = whats(found)
    assert changed[f"source {label(asked.answers['Merganser'], 'Merganser')}"] is False
    assert changed[f"source {label(asked.answers['Pochard'], 'Pochard')}"] is True
    assert not any(word in str(found) for word in ("1962", "1999", "litres"))

    client.delete(f"/memories/{things[SAID[0]]['memory']['id']}").raise_for_status()
    client.post("/corpus/sleep", json={"texts": [BOOK | {"text": "Reading in bed helps nobody."}]})
    client.delete("/corpus/sleep/spare").raise_for_status()
    client.delete(f"/memories/{things['Likes lists.']['memory']['id']}").raise_for_status()
    asked.qdrant.collections.pop("older")
    found = replayed(service, asked.answers["rag"])
    changed = whats(found)
    items = {item["text"]: f"source {item['label']}" for item in asked.answers["rag"]["memory_used"]}
    assert {items[SAID[0]]: False, items[BOOK["text"]]: True, items[OLDER]: False}.items() <= changed.items()
    assert changed[f"persona: memories {things['Likes lists.']['memory']['id']}"] is False
    assert not any(text in str(found) for text in (*SAID, BOOK["text"], OLDER, "nobody", "Likes lists"))

    client.delete(f"/vantage/cards/{things['cards']['id']}").raise_for_status()
    client.post("/vantage/facts", json={"vantage_id": "work", "text": "At ten.", "key": "ferry"})
    changed = whats(replayed(service, asked.answers["negotiated"]))
    assert changed[f"cards: vantage_card {things['cards']['id']}"] is False
    assert changed[f"cards: vantage_fact {things['facts']['id']}"] is True


def test_what_a_project_kept_then_is_told_by_hash(world: tuple[World, Service]) -> None:
    """A row edited or removed, an overview rewritten, a note dropped; a tag shows only where it was shown."""
    asked, service = world
    client, thn = service.client, asked.answers["THN"]
    assert replayed(service, thn)["identical"]
    client.post("/projects/THN/conversations", json=TALK | {"tags": ["harbour"]}).raise_for_status()
    client.put("/projects/THN/knowledge", json={"overview": "A harbour."}).raise_for_status()
    client.delete("/projects/THN/code/files", params={"path": "quay.py"}).raise_for_status()
    client.delete("/projects/THN/code").raise_for_status()
    found = replayed(service, thn)
    assert whats(found) == {
        f"source {label(thn, 'conversation')}": True,
        f"source {label(thn, 'quay.py')}": False,
        "knowledge: project_knowledge THN": True,
        "project_notes: project_notes THN": False,
    }
    shown = str(found) + str({**traced(service, thn), "question": "", "answer": "", "spans": []})
    assert not any(
        word in shown for word in ("harbour", "A quay", "High at nine", "was moved", "def quillon")
    )
    client.delete("/projects/DAAS/dreams/d").raise_for_status()
    dream = asked.answers["DAAS"]
    assert whats(replayed(service, dream)) == {f"source {label(dream, 'dream')}": False}
