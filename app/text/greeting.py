"""Greetings, small talk that asks for nothing ("hey again!", "ok, thanks"), and words of assent ("yes").

A message is a greeting if all its words are greeting phrases or filler (`COMPANY`), and not filler alone.
Source: docs/contract.md. Nothing here raises.
"""

import re

from app.text.phrases import ENDS, Phrases, words

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

ASSENT = (
    "yes|yeah|yep|yup|no|nope|nah|ok|okay|okey|k|sure|alright|all right|fine|right|exactly"
    "|correct|agreed|indeed|please do|go ahead|ja|jep|jo|nein|nee|doch|klar|alles klar"
    "|na klar|genau|stimmt|gut|in ordnung|oui|ouais|non|si|d'accord|bien sûr|entendu|sí|vale"
    "|sounds good|that works|works for me"
    "|claro|de acuerdo|bueno|certo|va bene|d'accordo|sim|não|tá|tudo bem|да|нет|ага|ок|окей"
    "|хорошо|ладно|понятно|ясно|好|好的|好吧|行|可以|嗯|是|是的|不|不是|对|はい|いいえ|うん|了解|了解です|分かりました"
    "|わかりました|네|아니요|نعم|لا|حسنا|تمام|हाँ|हां|नहीं|ठीक है|ठीक|अच्छा|tak|nie|dobrze|evet|hayır"
    "|tamam|ναι|όχι|כן|לא|בסדר"
)
"""Of themselves they ask for nothing; where a question was asked, they answer it."""

REACTION = (
    "thanks|thank|thank you|thx|thnx|ty|tysm|tks|cheers|much appreciated|appreciate it"
    "|many thanks|welcome|you're welcome|no problem|no worries|never mind|nevermind|sorry"
    "|my bad|oops|great|cool|nice|nice one|perfect|awesome|amazing|excellent|wonderful"
    "|brilliant|fantastic|lovely|sweet|super|good|good job|well done|wow|whoa|yay|lol|lmao"
    "|rofl|hm|hmm|mhm|uh|uhm|um|ugh|huh|ah|oh|aha|i see|got it|gotcha|understood|makes sense"
    "|interesting|good to know|good point|you're the best|you are the best"
    "|you rock|bye|bye bye|goodbye|see you|see ya|later|cya|good night|night|take care"
    "|have a nice day|have a good one|have a good day|have a great day|have a nice evening"
    "|how are you|how are you doing|how are you today|how's it going|how is it going|how have you been"
    "|what's up|whats up|nice to see you|good to see you|you are welcome|well done|great work|good work"
    "|great answer|good answer|nice answer|that helped|that helps|that was helpful|very helpful|helpful"
    "|wie geht's|wie gehts|wie geht es dir|wie geht es ihnen|bitte|bis morgen|gern geschehen"
    "|comment ça va|ça va|comment allez-vous|cómo estás|como estas|qué tal|come stai|come va|как дела"
    "|talk to you later|one moment|one second|one sec|wait"
    "|hold on|danke|vielen dank|besten dank|danke schön|dankeschön|danke sehr|danke dir"
    "|dank dir|merci vielmals|bitte sehr|toll|klasse|prima|perfekt|wunderbar|spitze|geil"
    "|schön|sehr gut|verstehe|verstanden|ach so|achso|tschüss|tschüs|tschau|bis bald"
    "|bis später|bis dann|gute nacht|auf wiedersehen|einen moment|merci|merci beaucoup"
    "|merci bien|de rien|parfait|génial|bravo|très bien|je vois|compris|pas de souci|désolé"
    "|désolée|au revoir|à bientôt|à plus|à demain|bonne nuit|bonne journée|gracias"
    "|muchas gracias|mil gracias|de nada|perfecto|genial|estupendo|muy bien|qué bien|guay"
    "|entiendo|entendido|ya veo|perdón|lo siento|adiós|adios|hasta luego|hasta mañana"
    "|hasta pronto|nos vemos|grazie|grazie mille|prego|perfetto|ottimo|capito|scusa"
    "|arrivederci|a presto|a domani|buonanotte|obrigado|obrigada|muito obrigado"
    "|muito obrigada|valeu|perfeito|ótimo|entendi|desculpa|tchau|até logo|até amanhã|спасибо"
    "|большое спасибо|спасибо большое|благодарю|спс|отлично|супер|круто|здорово|прекрасно"
    "|понял|поняла|извини|извините|пока|до свидания|до завтра|спокойной ночи|谢谢|谢谢你|多谢|感谢"
    "|不客气|太好了|很好|不错|棒|厉害|哈哈|哈哈哈|明白|明白了|知道了|懂了|抱歉|对不起|再见|拜拜|晚安|ありがとう|ありがとうございます"
    "|ありがとうございました|どうも|すごい|いいね|なるほど|すみません|ごめん|さようなら|またね|おやすみ|おやすみなさい|감사합니다|고마워|고마워요|안녕히|شكرا"
    "|شكرا جزيلا|عفوا|ممتاز|رائع|مع السلامة|धन्यवाद|शुक्रिया|बहुत धन्यवाद|बढ़िया|अलविदा"
    "|dziękuję|dzięki|świetnie|do widzenia|bedankt|dank je|dank je wel|dankjewel|doei|tack"
    "|tack så mycket|hej då|tak|mange tak|takk|kiitos|teşekkürler|teşekkür ederim|sağ ol"
    "|ευχαριστώ|תודה|ha|ha ha|haha|hahaha|hahahaha|hehe|hehehe|jaja|jajaja"
)

WITH = (
    "very much|so much|a lot|a bunch|again|man|dude|guys|pal|for that|for this|for your help"
    "|for the help|for now|for everything|really|very|that's|that is|it's|please|too|as well"
    "|then|everyone|tomorrow|tonight|soon|dir|dir auch|ihnen|euch|sehr|schön|so|noch|auch"
    "|für alles|für die hilfe|bitte|beaucoup|bien|mille fois|pour tout|à toi|à vous|mucho"
    "|muchas|mil|por todo|por favor|a ti|mille|molto|tante|per tutto|muito|por tudo|большое"
    "|вам|тебе|за помощь|очень|你|您|啊|吧|呀|了|的|جزيلا|बहुत|आपका"
)
"""What may stand beside a reaction."""

PHRASES = Phrases({"greeting": GREETING, "company": COMPANY})

TALK = Phrases({"said": "|".join((GREETING, ASSENT, REACTION)), "beside": f"{COMPANY}|{WITH}"})

ASSENTS = Phrases({"said": ASSENT, "beside": f"{COMPANY}|{WITH}"})


def is_pure_reentry_greeting(text: str) -> bool:
    """True if a message greets and does nothing else."""
    return _covered(text, PHRASES, "greeting")


def _covered(text: str, table: Phrases, least: str) -> bool:
    """True if a short text consists of phrases of a table, one of them called `least`."""
    if len(text) > LONGEST:
        return False
    said = [_settled(word) for word in words(SMILEY.sub(" ", text))]
    plain = [word for word in said if word not in ENDS]
    if not 0 < len(plain) <= MANY:
        return False
    found = list(table.among(said))
    covered = sum(part.end - part.start for part in found)
    return covered == len(plain) and any(least in part.names for part in found)


def is_small_talk(text: str) -> bool:
    """True if a message only greets, thanks, reacts or takes leave, in words or without any (an emoji)."""
    bare = SMILEY.sub(" ", text).strip()
    if not any(sign.isalnum() for sign in bare):
        return len(text) <= LONGEST
    return _covered(text, TALK, "said")


def is_assent(text: str) -> bool:
    """True if a message says yes, no or okay, and nothing else: an answer, where something was asked."""
    return _covered(text, ASSENTS, "said")


def _settled(word: str) -> str:
    """`heyyy` as `hey`, `hii` as `hi`; a word that ends so by nature is as short on both sides."""
    once = STRETCHED.sub(r"\1", word)
    short = ENDING.sub(r"\1", once)
    return short if short in {"hi", "hey", "yo", "hello", "hola", "ciao", "hallo"} else once
