"""OpenAI's protocol, spoken by OpenAI's own client, LangChain and Open WebUI."""

import functools
import json
import operator
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from langchain_openai import ChatOpenAI
from openai import OpenAI
from openai.types.chat.chat_completion_message import Annotation
from pydantic import SecretStr

from tests.answering.test_errands import OPEN_WEBUI, TITLE
from tests.clients import openwebui
from tests.clients.examples import run_examples
from tests.fakes.model import Fault
from tests.fakes.pdfs import text_pdf
from tests.fakes.process import Service, wait_for
from tests.integration.conftest import Host, Talk

ORCHARD = text_pdf(
    [
        "# Beehives\n\nThe beehives stand behind the orchard. There are fourteen of them, painted yellow.",
        "# Harvest\n\nIn 2019 the orchard gave 412 crates of apples. The press made 3,100 litres of cider.",
    ]
)
CELLAR = text_pdf("Of the apples that the orchard gave in 2019, 90 crates are in the cellar.")
QUESTION = "How many crates of apples did the orchard give in 2019?"
SAID = (
    "🍎 It gave 412 crates [orchard.pdf#1], they say [other.pdf#7], and cider [orchard.pdf#1, orchard.pdf#1]."
)
SENT = "🍎 It gave 412 crates [1], they say, and cider [1]."


@pytest.fixture(scope="module")
def orchard(talk: Talk) -> Talk:
    """A service with two PDFs in session `orchard`, and a model."""
    for name, content in (("orchard.pdf", ORCHARD), ("cellar.pdf", CELLAR)):
        assert talk.service.upload(name, content, session_id="orchard").status_code == 201
    return talk


@pytest.fixture
def client(orchard: Talk) -> Iterator[OpenAI]:
    orchard.model.reply, orchard.model.fault = SAID, Fault()
    with client_of(orchard.service) as opened:
        yield opened


def client_of(service: Service, key: str = "unused", **headers: str) -> OpenAI:
    return OpenAI(
        base_url=f"{service.lock.url}/v1",
        api_key=key,
        max_retries=0,
        default_headers={"X-Ibid-Session": "orchard"} | headers,
    )


def asked(*messages: tuple[str, str]) -> Any:
    """Messages as OpenAI's clients send them."""
    return [{"role": role, "content": content} for role, content in messages] or [
        {"role": "user", "content": QUESTION}
    ]


def prompt(talk: Talk) -> list[dict[str, str]]:
    """The last prompt."""
    messages: list[dict[str, str]] = talk.model.asked("/chat/completions")[-1].body["messages"]
    return messages


def cited(text: str, annotations: Any) -> list[str]:
    """The text where the annotations point."""
    places = [one.url_citation for one in annotations]
    return [text[place.start_index : place.end_index] for place in places]


def test_a_whole_answer_has_numbers_and_annotations(client: OpenAI, orchard: Talk) -> None:
    said = client.chat.completions.create(model="ibid", messages=asked())
    message = said.choices[0].message

    assert message.content == SENT
    assert cited(SENT, message.annotations) == ["[1]", "[1]"]
    place = message.annotations[0].url_citation if message.annotations else None
    assert place
    assert place.url.startswith(f"{orchard.service.lock.url}/api/documents/")
    assert orchard.service.client.get(place.url).json()["label"] == "orchard.pdf#1"
    assert said.usage
    assert said.usage.total_tokens == said.usage.prompt_tokens + said.usage.completion_tokens > 0
    assert (said.choices[0].finish_reason, said.object, said.model) == ("stop", "chat.completion", "ibid")
    facts = said.model_extra["ibid"] if said.model_extra else {}
    assert said.id == f"chatcmpl-{facts['answer_id']}"
    assert (facts["cited"], facts["unknown"]) == (["orchard.pdf#1"], ["other.pdf#7"])


@pytest.mark.parametrize(
    ("marks", "text"),
    [
        ("label", SAID.replace(", they say [other.pdf#7]", ", they say").replace(", orchard.pdf#1]", "]")),
        ("none", "🍎 It gave 412 crates, they say, and cider."),
    ],
)
def test_marks_can_be_labels_or_none(client: OpenAI, marks: str, text: str) -> None:
    said = client.chat.completions.create(
        model="ibid/docs", messages=asked(), extra_body={"ibid": {"marks": marks}}
    )
    found = said.choices[0].message

    assert found.content == text
    assert cited(text, found.annotations) == (["[orchard.pdf#1]"] * 2 if marks == "label" else [""] * 2)


@pytest.mark.parametrize("marks", ["number", "label", "none"])
def test_a_stream_says_the_same(client: OpenAI, marks: Any) -> None:
    body = {"ibid": {"marks": marks}}
    whole = client.chat.completions.create(model="ibid", messages=asked(), extra_body=body)
    chunks = list(
        client.chat.completions.create(
            model="ibid",
            messages=asked(),
            stream=True,
            stream_options={"include_usage": True},
            extra_body=body,
        )
    )
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    annotations = [each for delta in deltas for each in (delta.model_extra or {}).get("annotations", ())]
    text = "".join(delta.content or "" for delta in deltas)

    assert text == whole.choices[0].message.content
    assert annotations == [each.model_dump() for each in whole.choices[0].message.annotations or ()]
    assert deltas[0].role == "assistant"
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-2:] == [None, "stop"]
    assert chunks[-1].usage == whole.usage
    facts = (chunks[-2].model_extra or {})["ibid"]
    assert facts["answer_id"] == chunks[0].id.removeprefix("chatcmpl-")
    assert facts["rag"]["used"] is True


def test_sources_that_were_not_cited_are_named(client: OpenAI, orchard: Talk) -> None:
    """Without marks the text is the model's alone; the annotations say what it was given."""
    orchard.model.reply = "Many."
    numbered = client.chat.completions.create(model="ibid", messages=asked()).choices[0].message
    bare = client.chat.completions.create(
        model="ibid", messages=asked(), extra_body={"ibid": {"marks": "none"}}
    )

    assert (numbered.content or "").startswith("Many. Sources: [1]")
    assert cited(numbered.content or "", numbered.annotations)[0] == "[1]"
    assert bare.choices[0].message.content == "Many."
    assert cited("Many.", bare.choices[0].message.annotations)[0] == ""
    assert (bare.choices[0].message.annotations or [])[0].url_citation.end_index == len("Many.")


def test_the_conversation_becomes_history_and_notes(client: OpenAI, orchard: Talk) -> None:
    """Also parts, `developer`, unknown roles and fields; numbers of earlier answers are left out."""
    messages: Any = [
        {"role": "system", "content": "Speak plainly."},
        {"role": "developer", "content": [{"type": "text", "text": "Be brief."}]},
        {"role": "user", "content": "Is there an orchard?"},
        {"role": "assistant", "content": "There is [1]. `a [1]`", "tool_calls": None},
        {"role": "tool", "content": "42", "tool_call_id": "t"},
        {"role": "user", "content": [{"type": "text", "text": "How many crates of apples"}, {"type": "x"}]},
        {"role": "user", "content": "did the orchard give in 2019?"},
    ]
    client.chat.completions.create(
        model="ibid",
        messages=messages,
        temperature=0.1,
        n=1,
        tools=[{"type": "function", "function": {"name": "f", "parameters": {}}}],
        extra_body={"whatever": {"it": "is"}},
    )
    shown = prompt(orchard)

    assert shown[0]["content"].endswith("Speak plainly.\nBe brief.\nHow many crates of apples")
    assert shown[1:] == [
        {"role": "user", "content": "Is there an orchard?"},
        {"role": "assistant", "content": "There is. `a [1]`"},
        {"role": "user", "content": "did the orchard give in 2019?"},
    ]


def test_the_name_picks_the_sources(client: OpenAI, orchard: Talk) -> None:
    """And what there is, is listed."""
    memory = {"user_id": "bea", "text": "Bea keeps her bicycle in the blue shed."}
    assert orchard.service.client.post("/memories", json=memory).status_code == 201
    knowledge = {"overview": "The orchard is run by Ulla.", "rules": "", "notes": []}
    path = "/projects/FARM/knowledge"
    assert orchard.service.client.put(path, json=knowledge).status_code == 200

    names = [each.id for each in client.models.list()]
    assert names[:3] == ["ibid", "ibid/docs", "ibid/memory"]
    assert "ibid/FARM" in names[3:]
    assert client.models.retrieve("ibid/FARM").owned_by == "ibid"

    messages = asked(("user", "Where does Bea keep her bicycle?"))
    client.chat.completions.create(model="ibid/docs", messages=messages, user="bea")
    assert "blue shed" not in str(prompt(orchard))
    for name in ("ibid", "ibid/memory"):
        client.chat.completions.create(model=name, messages=messages, user="bea")
        assert "blue shed" in str(prompt(orchard))
    client.chat.completions.create(model="ibid/FARM", messages=messages)
    assert "run by Ulla" in str(prompt(orchard))
    assert orchard.service.client.delete(path).status_code == 204
    assert "ibid/FARM" not in [each.id for each in client.models.list()]


@pytest.mark.parametrize("name", ["gpt-5", "ibid/nowhere", "ibid/", "ibid/vantage"])
def test_an_unknown_model_is_not_found(client: OpenAI, name: str) -> None:
    """The policy's is unknown while its endpoints are off."""
    with pytest.raises(openai.NotFoundError) as caught:
        client.chat.completions.create(model=name, messages=asked())
    assert (caught.value.code, caught.value.param) == ("model_not_found", "model")
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve(name or "x")


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"messages": [{"role": "system", "content": "x"}]}, "messages"),
        ({"messages": [{"role": "user", "content": 7}]}, "messages.0.content"),
        ({"messages": [{"role": "user", "content": "x" * 32_001}]}, "messages"),
        ({"metadata": {"session_id": "a b"}}, "metadata.session_id"),
        ({"model": "ibid/memory"}, "user"),
    ],
)
def test_what_is_invalid_is_said_in_openais_way(client: OpenAI, body: Any, param: str) -> None:
    sent = {"model": "ibid", "messages": asked()} | body
    with pytest.raises(openai.BadRequestError) as caught:
        client.post("/chat/completions", body=sent, cast_to=object)
    assert (caught.value.param, caught.value.type) == (param, "invalid_request_error")
    assert caught.value.request_id


def test_every_fault_has_openais_envelope(orchard: Talk) -> None:
    """Also where the framework refuses."""
    http = orchard.service.client
    path, json_type = "/v1/chat/completions", {"Content-Type": "application/json"}
    found = [
        http.post(path, content=b"{", headers=json_type),
        http.post(path, content=b"x", headers={"Content-Type": "text/plain"}),
        http.post(path, content=b"[%b]" % (b"1," * (1 << 20)), headers=json_type),
        http.get(path),
        http.get("/v1/models", headers={"X-Forwarded-For": "1.2.3.4"}),
        http.get("/v1/models/none"),
        http.post("/v1/embeddings", json={"input": "a"}),
        http.get("/v1/elsewhere"),
    ]
    assert [answer.status_code for answer in found] == [400, 415, 413, 405, 403, 404, 404, 404]
    assert found[0].json()["error"]["code"] == "invalid_json"
    for answer in found:
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-request-id"]
        assert set(answer.json()) == {"error"}
        assert set(answer.json()["error"]) == {"message", "type", "param", "code"}
    for ours in ("/v1/search", "/v1/search/elsewhere", "/elsewhere"):
        assert "error" not in http.get(ours).json()


@pytest.mark.parametrize(
    ("status", "fault"),
    [
        (429, Fault(only="/chat/completions", status=429, retry_after="7")),
        (500, Fault(only="/chat/completions", status=500)),
    ],
)
def test_a_model_that_refuses_is_a_status(client: OpenAI, orchard: Talk, status: int, fault: Fault) -> None:
    orchard.model.fault = fault
    with pytest.raises(openai.InternalServerError) as caught:
        client.chat.completions.create(model="ibid", messages=asked(), stream=True)
    assert caught.value.type == "server_error"
    assert (caught.value.response.headers.get("retry-after") == "7") == (status == 429)


def test_a_model_that_breaks_off_is_an_error_in_the_stream(client: OpenAI, orchard: Talk) -> None:
    orchard.model.fault = Fault(only="/chat/completions", error_after=3)
    stream = client.chat.completions.create(model="ibid", messages=asked(), stream=True)
    chunks = iter(stream)
    assert next(chunks).choices[0].delta.role == "assistant"
    assert next(chunks).choices[0].delta.content
    with pytest.raises(openai.APIError) as caught:
        list(chunks)
    assert (caught.value.type, caught.value.code) == ("server_error", "model-failed")


def test_leaving_closes_the_models_stream(client: OpenAI, orchard: Talk) -> None:
    orchard.model.fault = Fault(only="/chat/completions", stall_after=4)
    stream = client.chat.completions.create(model="ibid", messages=asked(), stream=True)
    next(iter(stream))
    stream.close()
    request = orchard.model.asked("/chat/completions")[-1]
    wait_for(request.closed.is_set, seconds=5)


def opened(client: OpenAI) -> bool:
    return bool(client.models.list().data)


def test_a_closed_service_wants_its_key(host: Host) -> None:
    """The open one ignores the key that OpenAI's clients must send. A user key implies its user."""
    with (
        host() as service,
        client_of(service) as nobody,
        client_of(service, service.key() if opened(nobody) else "") as tenant,
        client_of(service, service.key(user="ada")) as ada,
    ):
        wait_for(lambda: service.client.get("/v1/models").status_code == 401)
        with pytest.raises(openai.AuthenticationError) as caught:
            nobody.models.list()
        assert caught.value.code == "invalid_api_key"
        with pytest.raises(openai.PermissionDeniedError):
            ada.chat.completions.create(model="ibid", messages=asked(), user="bob")
        said = ada.chat.completions.create(model="ibid/memory", messages=asked())
        assert said.choices[0].message.content
        assert opened(tenant)


@pytest.mark.parametrize("stream", [False, True])
def test_a_frontends_own_prompt_is_neither_searched_nor_kept(
    client: OpenAI, orchard: Talk, *, stream: bool
) -> None:
    """The model has it as it is, and the session's turns are what they were."""
    path = "/api/sessions/orchard/turns"
    client.chat.completions.create(model="ibid", messages=asked())
    before = orchard.service.client.get(path).json()
    orchard.model.reply = '{"title": "🍎 Harvest"}'
    messages = asked(("user", OPEN_WEBUI))
    if stream:
        chunks = client.chat.completions.create(model="ibid", messages=messages, stream=True)
        said = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    else:
        said = (
            client.chat.completions.create(model="ibid", messages=messages).choices[0].message.content or ""
        )

    assert json.loads(said) == {"title": "🍎 Harvest"}
    assert prompt(orchard) == [{"role": "user", "content": OPEN_WEBUI}]
    assert orchard.service.client.get(path).json() == before


def test_without_a_model_a_title_is_made_of_the_question(house: Service) -> None:
    with client_of(house) as client:
        said = client.chat.completions.create(model="ibid", messages=asked(("user", OPEN_WEBUI)))
        plain = client.chat.completions.create(
            model="ibid", messages=asked(("user", OPEN_WEBUI)), extra_body={"ibid": {"errand": False}}
        )
    assert json.loads(said.choices[0].message.content or "") == {"title": TITLE}
    assert "title" not in (plain.choices[0].message.content or "")


ORDER = [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.content_part.added",
    "response.output_text.delta",
    "response.output_text.annotation.added",
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.completed",
]


def test_a_response_cites_addresses_and_files(client: OpenAI, orchard: Talk) -> None:
    said = client.responses.create(model="ibid/docs", input=QUESTION, instructions="Be brief.")
    part: Any = said.output[0].content[0] if said.output[0].type == "message" else None

    assert (said.status, said.output_text) == ("completed", SENT)
    assert [each.type for each in part.annotations] == ["url_citation", "file_citation"] * 2
    address, file = part.annotations[:2]
    assert SENT[address.start_index : address.end_index] == "[1]"
    assert orchard.service.client.get(address.url).json()["label"] == "orchard.pdf#1"
    assert file.filename == "orchard.pdf"
    assert orchard.service.client.get(f"/api/documents/{file.file_id}").json()["filename"] == "orchard.pdf"
    assert said.usage
    assert said.usage.total_tokens == said.usage.input_tokens + said.usage.output_tokens > 0
    assert "Be brief." in prompt(orchard)[0]["content"]
    assert client.responses.retrieve(said.id).output == said.output


def test_a_streamed_response_has_the_protocols_events(client: OpenAI) -> None:
    """In their order, numbered, and with the annotations of the whole."""
    events: list[Any] = list(client.responses.create(model="ibid", input=QUESTION, stream=True))
    last = events[-1].response
    part = last.output[0].content[0]

    assert list(dict.fromkeys(event.type for event in events)) == ORDER
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert "".join(event.delta for event in events if event.type == ORDER[4]) == part.text == SENT
    added = [event.annotation for event in events if event.type == ORDER[5]]
    assert [each if isinstance(each, dict) else each.model_dump() for each in added] == [
        each.model_dump() for each in part.annotations
    ]
    with client.responses.stream(model="ibid", input=QUESTION) as stream:
        assert stream.get_final_response().output_text == SENT


def test_previous_response_id_continues_the_conversation(client: OpenAI, orchard: Talk) -> None:
    """From any response of it: what was said after that one is not part of it."""
    orchard.model.reply = "Hello Ulla."
    first = client.responses.create(model="ibid", input="My name is Ulla, and I grow apples.", user="ulla")
    orchard.model.reply = "Pears, too."
    second = client.responses.create(
        model="ibid", input="I also grow some pears in the yard.", previous_response_id=first.id, user="ulla"
    )
    third = client.responses.create(
        model="ibid", input="What did I tell you about me?", previous_response_id=first.id, user="ulla"
    )
    again = [message["content"] for message in prompt(orchard)[1:]]
    client.responses.create(model="ibid", input="What do I grow in all?", previous_response_id=second.id)
    after = [message["content"] for message in prompt(orchard)[1:]]

    assert third.previous_response_id == first.id
    assert again == ["My name is Ulla, and I grow apples.", "Hello Ulla.", "What did I tell you about me?"]
    assert after[1:3] == ["Hello Ulla.", "I also grow some pears in the yard."]
    assert after[3].startswith("Pears, too.")
    assert after[4:] == ["What do I grow in all?"]
    for user in ("otto", "ulla"):
        named = f"{first.id}x" if user == "ulla" else first.id
        with pytest.raises(openai.NotFoundError) as caught:
            client.responses.create(model="ibid", input="Who am I?", previous_response_id=named, user=user)
        assert (caught.value.code, caught.value.param) == ("response_not_found", "previous_response_id")


def test_a_response_that_is_not_stored_is_gone(client: OpenAI) -> None:
    said = client.responses.create(model="ibid", input=QUESTION, store=False)
    assert said.output_text == SENT
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(said.id)


def test_a_response_that_breaks_off_has_failed(client: OpenAI, orchard: Talk) -> None:
    orchard.model.fault = Fault(only="/chat/completions", close_after=3)
    events: list[Any] = list(client.responses.create(model="ibid", input=QUESTION, stream=True))
    assert [event.type for event in events[-2:]] == ["error", "response.failed"]
    assert events[-1].response.error.code == "model-failed"
    assert events[-1].response.output[0].content[0].text


def test_leaving_a_response_closes_the_models_stream(client: OpenAI, orchard: Talk) -> None:
    orchard.model.fault = Fault(only="/chat/completions", stall_after=4)
    with client.responses.create(model="ibid", input=QUESTION, stream=True) as stream:
        next(iter(stream))
    wait_for(orchard.model.asked("/chat/completions")[-1].closed.is_set, seconds=5)


@pytest.fixture
def langchain(client: OpenAI, orchard: Talk) -> ChatOpenAI:
    return ChatOpenAI(
        model="ibid",
        base_url=f"{orchard.service.lock.url}/v1",
        api_key=SecretStr("unused"),
        use_responses_api=True,
        output_version="v1",
        default_headers={"X-Ibid-Session": "orchard"},
        max_retries=0,
    )


def test_langchain_finds_citations_in_content_blocks(langchain: ChatOpenAI) -> None:
    """Whole and streamed alike."""
    whole = langchain.invoke(QUESTION)
    pieces = list(langchain.stream(QUESTION))
    joined = functools.reduce(operator.add, pieces)
    for said in (whole, joined):
        blocks: list[Any] = [block for block in said.content_blocks if block["type"] == "text"]
        assert "".join(block["text"] for block in blocks) == SENT
        cited = [each for block in blocks for each in block.get("annotations", ())]
        places = [each for each in cited if each.get("url")]
        assert [each["type"] for each in cited] == ["citation"] * 4
        assert [SENT[each["start_index"] : each["end_index"]] for each in places] == ["[1]", "[1]"]
        assert all("/api/documents/" in each["url"] for each in places)
    assert whole.usage_metadata
    assert whole.usage_metadata["total_tokens"] > 0


def test_langchain_continues_a_response(langchain: ChatOpenAI, orchard: Talk) -> None:
    first = langchain.invoke(QUESTION)
    langchain.invoke("And how much cider?", previous_response_id=first.response_metadata["id"])
    assert QUESTION in [message["content"] for message in prompt(orchard)]


def test_open_webui_shows_text_and_sources(client: OpenAI, orchard: Talk) -> None:
    """Each number opens its own source."""
    orchard.model.reply = (
        "In the cellar 90 [cellar.pdf#1], in all 412 [orchard.pdf#1], so 322 elsewhere [cellar.pdf#1]."
    )
    shown = heard(orchard)

    assert shown.content == "In the cellar 90 [1], in all 412 [2], so 322 elsewhere [1]."
    urls = openwebui.numbered(shown)
    labels = [orchard.service.client.get(url).json()["label"] for url in urls]
    assert labels == ["cellar.pdf#1", "orchard.pdf#1"]
    assert shown.usage["total_tokens"] > 0


def test_open_webui_shows_what_went_wrong(client: OpenAI, orchard: Talk) -> None:
    orchard.model.fault = Fault(only="/chat/completions", error_after=2)
    shown = heard(orchard)
    assert shown.content
    assert shown.error["message"]


def heard(talk: Talk) -> openwebui.Shown:
    headers = openwebui.HEADERS | {"X-Ibid-Session": "orchard"}
    path = "/v1/chat/completions"
    with talk.service.client.stream("POST", path, json=openwebui.REQUEST, headers=headers) as answer:
        assert answer.status_code == 200
        return openwebui.read(answer.iter_lines())


@pytest.mark.skipif(shutil.which("curl") is None, reason="some examples are for curl")
def test_the_examples_of_the_guide_run(host: Host, tmp_path: Path) -> None:
    """Each cites the report, without a model."""
    (tmp_path / "report.pdf").write_bytes(
        text_pdf("Bees prefer blue flowers over red ones, says the report.")
    )
    with host() as service:
        told = run_examples("openai.md", service.lock.url, tmp_path)
    uploaded, curl, httpx, chat, continued, langchain = told
    assert json.loads(uploaded)["state"] == "ready"
    message = json.loads(curl)["choices"][0]["message"]
    assert cited(message["content"], [Annotation(**each) for each in message["annotations"]]) == ["[1]"]
    for said in (httpx, chat, continued, langchain):
        assert "blue flowers" in said
        assert "[1]" in said
    for said in (chat, langchain):
        assert "/api/documents/" in said


def test_the_policy_answers_and_is_always_recorded(house: Service) -> None:
    """With the history as its thread, of which a replay says that it was not kept."""
    memory = {"user_id": "cleo", "text": "Cleo keeps her skates in the attic."}
    assert house.client.post("/memories", json=memory).status_code == 201
    talk = (
        ("user", "I have skates."),
        ("assistant", "Good [1]."),
        ("user", "Where does Cleo keep her skates?"),
    )
    with client_of(house) as client:
        said = client.chat.completions.create(model="ibid/vantage", messages=asked(*talk), user="cleo")
        unstored = client.responses.create(model="ibid/vantage", input=talk[-1][1], user="cleo", store=False)
    message = said.choices[0].message
    assert "attic" in (message.content or "")
    assert cited(message.content or "", message.annotations)[:1] == ["[1]"]
    assert all(each.url_citation.url.startswith(house.lock.url) for each in message.annotations or ())
    ids = said.id.removeprefix("chatcmpl-"), unstored.id.removeprefix("resp_")
    replays = [house.client.post(f"/answers/{answer_id}/replay").json() for answer_id in ids]
    assert [each["identical"] for each in replays] == [False, True]
    assert "not kept" in {each["after"] for each in replays[0]["changes"]}
