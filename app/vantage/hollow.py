"""Words that do not say what is wanted: verbs without their object, nouns for anything, adjectives for any
noun.

They join what `domain/tongue.py` lists (articles, pronouns, question words). A message of nothing else is
clear to nobody: "can you fix it?", "which is better?", "I have a problem". Lower case; a word is listed only
if a question made of such words alone could be about anything. Nothing here raises.
"""

from collections.abc import Sequence

from app.domain.tongue import DETERMINERS, ENGLISH, FRENCH, GERMAN, SPANISH, Tongue, words

VERBS = words(
    "help helps helped helping fix fixes fixed fixing repair solve resolve do doing done make makes made"
    " making translate summarise summarize summary compare contrast explain describe define analyse"
    " analyze evaluate assess edit rewrite rephrase reword paraphrase proofread correct revise improve"
    " optimise optimize refactor debug convert calculate compute write generate create build draft compose"
    " recommend suggest advise propose find search look get getting got give gives gave put take bring"
    " send sent remind tell told ask say said use using used try tried trying add remove delete undo redo"
    " repeat choose pick decide handle finish complete continue proceed keep install uninstall download"
    " upload update updated upgrade enable disable configure happen happened happening going gone come"
    " came go need needs needed want wanted wants wondering wonder know understand think thinking believe"
    " guess see seem seems matter cancel arrange schedule buy buying elaborate simplify shorten expand"
    " clarify format answer respond reply assist guide support deal wait hurry stuck works working worked"
    " fail fails failed failing broke crashes crashed would've should've let lets"
    " sum wrap draw design mean means meant"
    " hlep hepl expalin explian tranlsate traslate sumarize summerise summerize recomend compair"
    " transfer"
    " prefer reschedule postpone remember started stopped"
)
EITHER = words(
    "work run show start stop open close move set turn check review change book order call play test"
    " cut sort list plan pay print post share save reset switch hold record track cost"
    " text email message"
)
"""The same where they are verbs; nouns with something to them after `a`, `my`, `good`."""
THINGS = words(
    "thing things thingy stuff something anything everything nothing someone somebody anyone everyone"
    " problem problems issue issues trouble question questions error errors matter situation topic subject"
    " idea ideas way ways option options case kind type version place info information task request favour"
    " favor item items part bit lot difference differences choice result results reason advice bug bugs"
    " usual whatever name price answer solution example examples details step steps side sides mistake"
    " mistakes moment second minute opinion thoughts instructions feedback alternative alternatives update"
    " updates status progress suggestion suggestions recommendation recommendations tip tips comment"
    " comments hint hints guidance concept process procedure approach guy two three four"
    " blah bla benefits pros cons advantages disadvantages downsides"
)
"""Nouns for anything."""
KINDS = words(
    "good better best bad worse worst wrong right broken new old big bigger small smaller large larger"
    " long longer short shorter fast faster quick quicker quickly slow slower cheap cheaper expensive easy"
    " easier hard harder normal possible okay far near close high higher low lower different same nice"
    " nicer great cool important urgent asap properly proper well suitable correct true similar possible"
    " previous next usual certain stronger safer nearest closest useful worth weird strange"
    " specific precise concrete detailed left able alright fun"
    " ready"
)
"""Adjectives and adverbs for anything."""
COMPANY = words(
    "please pls plz kindly thanks thank thx hi hey hello ok okay yes no yeah yep nope sure sorry lol um"
    " uh er hmm can could u ur im i'm i've i'd i'll idk dont don't doesnt doesn't didnt didn't isnt isn't"
    " cant can't won't wont it'll you're they're we're let's lets whats it's its thats that's sir bro mate"
    " dude guys man hello there else maybe perhaps actually basically again back away somehow though"
    " anyway quickly gonna wanna gotta tho too also either neither never always usually before after"
    " already yet mine yours ours myself yourself whichever whoever where's how's who's a b x y z of cause"
    " coz cuz between quick ago him"
    " attached discussed mentioned above below earlier tldr tl dr both soon"
    " anymore huh eh"
)
"""Courtesy, contractions, and what is left when the apostrophe is."""
BEFORE_NOUNS = DETERMINERS | KINDS
NUMBERED = words("convert add subtract multiply divide round calculate remind")
"""Verbs that a number alone is not enough for: `convert 50`."""
GERMAN_HOLLOW = words(
    "ich du wir mir mich dir dich uns kannst könntest könnten möchte will brauche hilf hilfe helfen bitte"
    " mal doch mach mache machen gemacht reparieren reparier übersetze übersetzen erklär erkläre erklären"
    " zusammenfassen vergleiche vergleichen schreibe schreiben zeig zeige geht funktioniert funktionieren"
    " kaputt fehler problem frage sache ding dings etwas irgendwas nochmal wieder besser schlechter"
    " billiger teurer schneller anders andere anderen anderer kostet kosten soll sollte habe hab bin macht"
    " tun weiter also schon nur ja nein es's bedeutet denn jetzt weit hallo unterschied meinst meine mein"
    " passiert kaufen nehmen besten beste"
    " bekomme zwei drei dingsda nennt man sag sage sagt"
)
FRENCH_HOLLOW = words(
    "je tu nous vous moi toi me te aide aider aidez aide-moi aidez-moi peux pouvez pourrais pourriez"
    " peux-tu veux voudrais besoin faire fais fait refaire réparer répare traduis traduire traduisez"
    " explique expliquer résume résumer compare comparer écris montre marche fonctionne cassé erreur"
    " problème question chose truc autre autres mieux meilleur pire moins cher coûte c'est d'aide"
    " qu'est-ce est-ce s'il plaît svp stp j'ai ne n'est ça c'était veut dire loin oui non bonjour salut"
    " différence tout on y en acheter prendre continue encore ceci l'autre"
    " m'aider m'aidez t'aider quelque"
    " lequel laquelle lesquels lesquelles refais appelle s'appelle dis dis-le dit"
)
SPANISH_HOLLOW = words(
    "yo tú me te nos mi ayuda ayudar ayúdame ayudarme puedes podrías puede quiero quisiera necesito hacer"
    " haz hazlo arreglar arreglarlo arréglalo traducir traduce tradúcelo explica explicar explícame resume"
    " resumir comparar compara escribe muestra funciona roto error problema pregunta cosa algo otro otra"
    " otros otras mejor peor barato barata caro cara cuesta cuánto significa lejos favor tengo una duda"
    " hola sí no diferencia pasa pasó comprar ahora más vez nuevo sigue continúa"
    " hago hacemos hacerlo dime dímelo se llama hace dilo"
)


def _with(tongue: Tongue, own: frozenset[str]) -> frozenset[str]:
    """A language's words that name nothing, and these."""
    return own | tongue.openings | tongue.verbs | tongue.bare | tongue.ordinals.keys()


EMPTY = _with(ENGLISH, VERBS | THINGS | KINDS | COMPANY)
LANGUAGES = (
    _with(GERMAN, GERMAN_HOLLOW),
    _with(FRENCH, FRENCH_HOLLOW),
    _with(SPANISH, SPANISH_HOLLOW),
)
"""The same of other languages: a message is hollow if all of it is so in one of them."""
PHRASES = (
    "sos|puoi farlo|e poi|perché|wat bedoel je|wat betekent dat|waarom|dlaczego|proč|varför|hvorfor"
    "|por quê|neden|nasıl|これは|それは|それで|もっと|続けて|帮我|帮忙|然后呢|继续|更多|это что|а это"
    "|дальше|ещё|aiuto|aiutami|mi puoi aiutare|puoi aiutarmi|che cos'è|cos'è|cos'è questo"
    "|cosa significa|quanto costa|e l'altro|ajuda|me ajuda|me ajude|pode me ajudar|podes ajudar-me"
    "|o que é isso|o que é isto|quanto custa|e o outro|hjälp|hjelp|hjælp|hvad er det|hva er det"
    "|vad är det|apua|mikä tämä on|kun je me helpen|kun je helpen|wat is dit|wat is dat"
    "|hoeveel kost het|pomoc|pomocy|co to jest|ile to kosztuje|pomóż mi|помогите|помоги|помощь"
    "|помогите мне|помоги мне|что это|что это такое|сколько это стоит|почему|и что|а другой|βοήθεια"
    "|τι είναι αυτό|yardım|bu ne|bu nedir|ajutor|segítség|帮助|帮帮我|请帮我|救命|这是什么|那是什么"
    "|这个呢|为什么|多少钱|你能帮我吗|你可以帮我吗|能帮我吗|怎么办|助けて|手伝って|これは何ですか"
    "|これは何|これ何|なぜ|いくらですか|도와줘|도와주세요|이게 뭐야|이거 뭐야|왜|얼마예요|مساعدة"
    "|ساعدني|ما هذا|لماذا|كم السعر|मदद|मेरी मदद करो|यह क्या है|क्यों|עזרה|מה זה|למה"
)
"""`Help`, `what is this?`, `how much is it?` in languages that have no table, as whole messages."""
BARE = frozenset(tuple(phrase.split()) for phrase in PHRASES.split("|"))
MOMENTS = words("last next this that same first")
"""Before `time`: `like last time`; `how does time work?` is about time."""


def hollow(lower: Sequence[str]) -> bool:
    """Whether none of a message's words says what it is about."""
    if not lower:
        return False
    if tuple(lower) in BARE or (len(lower) == 1 and lower[0].isdecimal()):
        return True
    if all(empty(lower, n) for n in range(len(lower))):
        return True
    return any(own.issuperset(lower) for own in LANGUAGES)


def empty(lower: Sequence[str], n: int) -> bool:
    """Whether the word at a place names nothing."""
    word = lower[n]
    before = lower[n - 1] if n else ""
    if word == "time":
        return before in MOMENTS
    return word in EMPTY or (word in EITHER and before not in BEFORE_NOUNS)
