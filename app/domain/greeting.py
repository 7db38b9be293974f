"""Greetings that ask for nothing ("hey again!"), and the line that says how long somebody was away.

Pure means: every word is a greeting or company for one; a single word of content and it is a question.
Source: CONTRACT §2.1, seed 003 (3.1.2). Nothing here raises.
"""

import re

from app.domain.memory import Moment
from app.domain.phrases import ENDS, Phrases, words

LONGEST, MANY = 120, 14
"""Characters, words: whoever writes more has something to say."""
GREETING = (
    "hi|hello|hey|heya|hiya|howdy|yo|hallo|greetings|sup|hi there|hey there|hello there|good morning"
    "|good evening|good afternoon|good day|morning|evening|gm|i'm back|im back|i am back|back again|me again"
    "|it's me|its me|long time no see|welcome back|guess who's back|moin|moin moin|servus|grüezi|grüß gott"
    "|guten morgen|guten tag|guten abend|ich bin wieder da|ich bin zurück|bin wieder da|da bin ich wieder"
    "|bonjour|bonsoir|salut|coucou|rebonjour|je suis de retour|me revoilà|hola|buenas|buenos días"
    "|buenos dias|buenas tardes|buenas noches|estoy de vuelta|he vuelto|ciao|salve|buongiorno|buonasera"
    "|sono tornato|sono tornata|olá|oi|bom dia|boa tarde|boa noite|voltei|hej|hei|hallå|god morgon"
    "|goedemorgen|goedemiddag|goedenavond|hoi|cześć|dzień dobry|ahoj|merhaba|selam|привет|здравствуй"
    "|здравствуйте|добрый день|доброе утро|добрый вечер|я вернулся|я вернулась|γεια|γεια σου|καλημέρα|שלום"
    "|مرحبا|السلام عليكم|नमस्ते|namaste|こんにちは|こんばんは|おはよう|おはようございます|ただいま"
    "|你好|您好|早上好|晚上好|嗨|안녕|안녕하세요"
)
COMPANY = (
    "again|there|all|everyone|everybody|friend|my friend|buddy|mate|dear|ibid|assistant|bot|to you|you|today"
    "|now|and|so|well|ok|okay|oh|ah|just|here|it's|it is|once more|once again|nice to see you"
    "|good to see you|good to be back|how are you|how are you doing|how are you today|how's it going"
    "|how is it going|how have you been|what's up|whats up|hope you're well|hope you are well|happy monday"
    "|happy friday|wieder|nochmal|zusammen|alle|mal wieder|wie geht's|wie geht es dir|und|à tous|encore"
    "|ça va|comment ça va|de nouveau|otra vez|de nuevo|a todos|qué tal|cómo estás|come stai|di nuovo"
    "|tudo bem|de novo|снова|как дела"
)
SMILEY = re.compile(r"[:;=]['-]?[)(DPpOo3](?!\w)|<3|\^_?\^|\bx[Dd]\b")
STRETCHED = re.compile(r"(\w)\1{2,}")
ENDING = re.compile(r"([^\W\d_])\1+$")

PHRASES = Phrases({"greeting": GREETING, "company": COMPANY})

AWAY = {
    "new": "This person writes for the first time.",
    "minutes": "This person was here within the last hour: go on without ceremony.",
    "hours": "This person was last here earlier, within a day.",
    "days": "This person is back after some days.",
    "weeks": "This person is back after some weeks.",
    "months": "This person is back after a month or more.",
}
"""By bucket, not by second: the same prompt for the same situation."""


def is_pure_reentry_greeting(text: str) -> bool:
    """Whether a message greets and does nothing else."""
    if len(text) > LONGEST:
        return False
    said = [_settled(word) for word in words(SMILEY.sub(" ", text))]
    plain = [word for word in said if word not in ENDS]
    if not 0 < len(plain) <= MANY:
        return False
    found = list(PHRASES.among(said))
    covered = sum(part.end - part.start for part in found)
    return covered == len(plain) and any("greeting" in part.names for part in found)


def reentry_line(moment: Moment | None) -> str:
    """The temporal line of a prompt; "" if nothing is known."""
    return AWAY.get(moment.bucket, "") if moment else ""


def _settled(word: str) -> str:
    """`heyyy` as `hey`, `hii` as `hi`; a word that ends so by nature is as short on both sides."""
    once = STRETCHED.sub(r"\1", word)
    short = ENDING.sub(r"\1", once)
    return short if short in {"hi", "hey", "yo", "hello", "hola", "ciao", "hallo"} else once
