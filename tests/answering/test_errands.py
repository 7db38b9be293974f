"""Prompts of frontends are told from questions, and answered without a model."""

import pytest

from app.answering.errands import is_errand, reply

TALK = "USER: How many crates did the orchard give?\nASSISTANT: It gave 412 crates [1]."
OPEN_WEBUI = f"""### Task:
Generate a concise, 3-5 word title with an emoji summarizing the chat history.
### Output:
JSON format: {{ "title": "your concise title here" }}
### Examples:
- {{ "title": "📉 Stock Market Trends" }}
### Chat History:
<chat_history>
{TALK}
</chat_history>"""
LIBRE_CHAT = f"""Provide a concise, 5-word-or-less title for the conversation, using its same language, with \
no punctuation. Only return the title itself.

Conversation:
{TALK.replace("USER", "User").replace("ASSISTANT", "AI")}"""
LOBE_CHAT = """<task>
Generate a concise title that captures the essence of the conversation.
</task>

<conversation>
<user>
How many crates did the orchard give?
</user>
<assistant>
It gave 412 crates.
</assistant>
</conversation>"""
TITLE = "How many crates did the orchard give"


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        pytest.param(OPEN_WEBUI, f'{{"title": "{TITLE}"}}', id="Open WebUI's title"),
        pytest.param(
            OPEN_WEBUI.replace('{ "title": "your concise title here" }', '{ "tags": ["tag1", "tag2"] }'),
            '{"tags": []}',
            id="Open WebUI's tags",
        ),
        pytest.param(
            OPEN_WEBUI.replace(TALK, TALK.splitlines()[0]),
            f'{{"title": "{TITLE}"}}',
            id="Open WebUI before the answer",
        ),
        pytest.param(LIBRE_CHAT, TITLE, id="LibreChat"),
        pytest.param(LIBRE_CHAT.replace(" It gave 412 crates [1].", ""), TITLE, id="LibreChat before"),
        pytest.param(LOBE_CHAT, TITLE, id="LobeChat"),
        pytest.param(
            f"{TALK.lower()}\n\nPlease summarize this within 5 words", TITLE.lower(), id="LobeChat's old"
        ),
    ],
)
def test_a_frontends_prompt_is_known_by_its_shape(prompt: str, said: str) -> None:
    """Without a model: a title from the question's words, in the form that is asked for."""
    assert is_errand(prompt)
    assert reply(prompt) == said


@pytest.mark.parametrize(
    "question",
    [
        "How many crates of apples did the orchard give in 2019?",
        'Return the revenue of 2023 as JSON: { "revenue": "…" }',
        "Suggest a title for chapter 2 of my thesis.",
        "Who wrote <title>The Mill</title>?",
        "What does `User: admin` in the log mean?",
        "What is human: nature or culture?",
        pytest.param(f"{TALK}\nUSER: And in 2020?", id="a question with its history"),
        pytest.param(
            f"The following is a friendly conversation.\n\n{TALK}\nHuman: And in 2020?\nAI:", id="to go on"
        ),
    ],
)
def test_a_question_is_none(question: str) -> None:
    assert not is_errand(question)


@pytest.mark.parametrize(
    "message",
    [
        "<log>\nUser: my router is dead\nAssistant: reset it\n</log>\nWhat did the shareholders vote on?",
        "Here is an email:\nUser: hi\nAssistant: hello there\nWhat did the shareholders vote on?",
        "<x>\nUser: hi\nAssistant: sure\n</x> Continue.",
    ],
)
def test_a_question_about_a_dialogue_is_a_question(message: str) -> None:
    assert not is_errand(message)
