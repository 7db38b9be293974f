"""Greetings that ask for nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.answering.prompt import AWAY, reentry_line
from app.db.memories import Moment
from app.text.greeting import is_assent, is_pure_reentry_greeting, is_small_talk

GREETINGS = (
    "hey again!",
    "Hi",
    "HELLO",
    "good morning :)",
    "hello there, I'm back",
    "heyyyy",
    "hiii!!!",
    "Hello, hello",
    "hi 👋",
    "Hey, it’s me again",
    "I'm back",
    "long time no see!",
    "hi, how are you?",
    "good evening everyone",
    "Guten Morgen zusammen",
    "Ich bin wieder da",
    "Bonjour, ça va ?",
    "¡Hola de nuevo!",
    "buongiorno",
    "Привет снова",
    "你好",
    "こんにちは！",
    "안녕하세요",
    "السلام عليكم",
    "नमस्ते",
)
QUESTIONS = (
    "hi, what did I say about the boat?",
    "hello world in Rust",
    "good",
    "again",
    "ok",
    "how are you",
    "hey can you help me",
    "morning routine",
    "hi 5",
    "Hi Berlin weather",
    "hey hey my my",
    "what's up with my sleep",
    "thanks",
    "",
    "   ",
    "👋",
    "hello " * 30,
)


@pytest.mark.parametrize("text", GREETINGS)
def test_greetings_are_pure(text: str) -> None:
    """Nothing is asked, in any of the languages."""
    assert is_pure_reentry_greeting(text)


@pytest.mark.parametrize("text", QUESTIONS)
def test_whatever_asks_is_no_greeting(text: str) -> None:
    """A word of content, company without a greeting, or nothing at all."""
    assert not is_pure_reentry_greeting(text)


@given(st.sampled_from(GREETINGS), st.sampled_from(["kayak", "why", "12", "compare", "Zürich", "天气"]))
def test_one_word_of_content_makes_a_question(greeting: str, word: str) -> None:
    """Before the greeting or after it."""
    assert not is_pure_reentry_greeting(f"{greeting} {word}")
    assert not is_pure_reentry_greeting(f"{word}, {greeting}")


@pytest.mark.parametrize("bucket", ["new", "minutes", "hours", "days", "weeks", "months"])
def test_each_bucket_has_its_line(bucket: str) -> None:
    """One line each, no two alike."""
    line = reentry_line(Moment(bucket))
    assert line
    assert "\n" not in line
    assert list(AWAY.values()).count(line) == 1


SMALL_TALK = (
    "hi",
    "hey!",
    "Hello there",
    "thanks!",
    "thank you so much",
    "that helped, thanks",
    "great answer!",
    "How are you?",
    "Wie geht's?",
    "bitte",
    "¿Cómo estás?",
    "you are welcome",
    "thx",
    "ok cool",
    "okay",
    "great, thanks",
    "lol",
    "haha",
    "😂",
    "👍👍",
    "nice one",
    "wow!!",
    "got it",
    "perfect, thank you",
    "bye",
    "see you tomorrow",
    "good night",
    "danke schön",
    "vielen dank",
    "alles klar",
    "super",
    "tschüss",
    "hallo zusammen",
    "merci",
    "merci beaucoup",
    "d'accord",
    "génial",
    "au revoir",
    "gracias",
    "muchas gracias",
    "vale",
    "genial",
    "hasta luego",
    "grazie mille",
    "va bene",
    "ciao",
    "obrigado",
    "спасибо",
    "спасибо большое",
    "ок",
    "понятно",
    "пока",
    "谢谢",
    "好的",
    "哈哈",
    "再见",
    "ありがとう",
    "了解です",
    "شكرا",
    "धन्यवाद",
    "ठीक है",
)
SOUGHT = (
    "thanks, and what about the second one?",
    "Pfizer",
    "revenue?",
    "dentist",
    "ok so who is the CEO?",
    "hello, how much debt is there?",
    "cool revenue figures for 2021",
    "thanks to whom did revenue grow?",
    "danke, und wie hoch ist der Umsatz?",
    "Umsatz",
    "ingresos",
    "2021",
    "yes or no: did sales rise?",
    "great wall",
    "super bowl",
    "nice to know: what is EBITDA?",
    "hi-tech exports",
    "ciao bella restaurant",
    "bye-laws",
    "谢谢，那收入呢？",
    "收入",
    "спасибо, а выручка?",
    "выручка",
    "merci pour le rapport, quel est le total?",
    "COVID-19",
    "good will impairment",
    "night shifts",
    "morning routine",
    "Harbour",
    "legal?",
)


@pytest.mark.parametrize("message", SMALL_TALK)
def test_small_talk_asks_for_nothing(message: str) -> None:
    """Greetings, thanks, reactions and leave, in several languages and without words."""
    assert is_small_talk(message)


@pytest.mark.parametrize("message", SOUGHT)
def test_a_word_of_content_makes_it_a_question(message: str) -> None:
    """However short, and whatever stands before it."""
    assert not is_small_talk(message)


@pytest.mark.parametrize(
    ("message", "so"),
    [
        ("yes", True),
        ("ok, sure", True),
        ("sounds good", True),
        ("thanks", False),
        ("no?", True),
    ],
)
def test_an_assent_may_answer_something(message: str, so: bool) -> None:
    """Yes, no, okay; thanks do not."""
    assert is_assent(message) is so
