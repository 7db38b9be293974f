"""OpenAI's protocol: names, answers, a frontend's own prompt, errors. Searches what all may see."""

from typing import Any

from tests.golden.ask import Ask, get, post

DOME = "When was the dome rebuilt?"
SESSION = {"X-Ibid-Session": "protocols"}


def completion(name: str, *said: str, path: str = "/v1/chat/completions", **fields: Any) -> Ask:
    """Texts of the user and the assistant in turn."""
    roles = ("user", "assistant") * len(said)
    messages = [{"role": role, "content": text} for role, text in zip(roles, said, strict=False)]
    return post(
        f"openai-{name}", path, {"model": "ibid/docs", "messages": messages} | fields, headers=SESSION
    )


def response(name: str, text: str, **fields: Any) -> Ask:
    body = {"model": "ibid/docs", "input": text} | fields
    return post(f"openai-{name}", "/v1/responses", body, headers=SESSION, save=f"openai_{name}")


ASKS = (
    get("openai-models", "/v1/models"),
    get("openai-model", "/v1/models/ibid"),
    get("openai-model-unknown", "/v1/models/gpt-5"),
    completion("chat", DOME),
    completion("chat-labels", DOME, ibid={"marks": "label"}),
    completion("chat-history", DOME, "In 1911 [1].", "And who did it?"),
    completion("chat-unknown-model", DOME, model="gpt-5"),
    completion("chat-no-question", DOME, messages=[]),
    completion(
        "title",
        f'Give the chat a title as JSON: {{ "title": "…" }}\n<chat_history>\nUSER: {DOME}\n</chat_history>',
    ),
    response("response", DOME),
    response("response-not-stored", DOME, store=False),
    response("response-next", "And who did it?", previous_response_id="{openai_response}"),
    get("openai-response-again", "/v1/responses/{openai_response}"),
)
