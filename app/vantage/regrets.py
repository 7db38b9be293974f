"""How a refusal is worded, by language: its frames (decline, regret, reason, help, offer), and its words.

A closed vocabulary on purpose: a sentence that tells how something is done needs other words. What is asked
for is named here in general terms alone. `word*`: whatever begins so. Data; nothing here raises.
"""

from collections.abc import Mapping

from app.domain.tongue import words

FRAMES: Mapping[str, Mapping[str, str]] = {
    "en": {
        "decline": (
            "i can't|i cannot|i can not|i won't|i will not|i'm unable|i am unable|i'm not able"
            "|i am not able|i'm not going to|i am not going to|i must decline|i have to decline"
            "|i need to decline|i decline|i'll have to decline|i'll pass on|i'd rather not"
            "|i would rather not|i don't help|i do not help|i don't provide|i do not provide|i don't assist"
            "|i can't be|i'm not comfortable|i am not comfortable|not something i can|not something i'm"
            "|not something i am|not something i'll|something i can't|something i cannot|something i won't"
            "|isn't something i|is not something i|isn't something i'm|is not something i'm"
            "|nothing i can help|no part in|unable to help"
            "|unable to assist|not able to help|can't help|cannot help|can't assist|cannot assist"
            "|won't help|won't assist|can't provide|cannot provide|can't support|can't do that"
            "|can't do this|have to say no|must say no|i have to refuse"
        ),
        "regret": (
            "i'm sorry|i am sorry|sorry|i apologize|i apologise|my apologies|unfortunately|i regret"
            "|i'm afraid|i understand|i hear|thank you for|thanks for|it sounds like|i appreciate|i care"
            "|you matter"
        ),
        "reason": (
            "harm|harmful|harms|hurt|hurts|dangerous|danger|unsafe|illegal|unlawful|against the law|injure"
            "|injured|injury|at risk|puts people|put people|set aside|my guidelines|not allowed|violate"
            "|violates|unethical|serious risk|safety"
        ),
        "help": (
            "please call|please contact|please reach|please talk|please seek|please get|please speak|call"
            "|contact|reach out|talk to|speak to|speak with|text|emergency|hotline|helpline|crisis|lifeline"
            "|you're not alone|you are not alone|you don't have to go|help is available"
            "|support is available|there are people|there is help|people who|professional|trusted adult"
            "|someone you trust|somebody you trust|findahelpline|if you're|if you are|if someone"
            "|if somebody"
        ),
        "offer": (
            "i can help|i can talk|i can tell|i can explain|i can share|i can offer|i can discuss"
            "|i can answer|i can instead|i could|i'd be glad|i'd be happy|i would be glad|i would be happy"
            "|i'm glad to|i am glad to|i'm happy to|i am happy to|glad to|happy to|i'd gladly|i'll gladly"
            "|i can suggest|i can point|let me know|feel free|if you'd like|if you would like|if you want"
            "|if you have|instead|do you want to|something else|anything else|what i can do|let's talk"
            "|is there another|is there something|can i help|may i help|would you like|ask me about"
            "|i'm here|i am here|happily|gladly"
        ),
        "": "can't wait|cannot wait|can't stress|can't recommend|won't hurt",
    },
    "de": {
        "decline": (
            "kann ich nicht|ich leider nicht|ich kann nicht|kann ich dir nicht|kann ich ihnen nicht"
            "|kann dir nicht|kann ihnen nicht|kann dabei nicht|kann dir dabei nicht|kann ihnen dabei nicht"
            "|kann dazu keine|kann dir dazu keine|kann ihnen dazu keine|kann hierzu keine|kann das nicht"
            "|kann damit nicht|kann hier nicht|kann hierbei nicht|nicht helfen|nicht weiterhelfen"
            "|nicht unterstützen|nicht behilflich|keine hilfe|keine anleitung|keine auskunft|ablehnen"
            "|werde ich nicht|werde dir nicht|werde dabei nicht|möchte ich nicht"
        ),
        "regret": "tut mir leid|es tut mir leid|leider|entschuldigung|entschuldige|ich bedaure|ich verstehe",
        "reason": "schaden|schadet|gefährlich|gefährden|verletzen|verletzt|illegal|verboten|strafbar|gefahr",
        "help": (
            "wende dich|wenden sie sich|ruf|rufe|rufen sie|notruf|telefonseelsorge|sprich mit|sprechen sie"
            "|rede mit|hole dir hilfe|hol dir hilfe|nicht allein|in gefahr|beratungsstelle|du musst nicht"
        ),
        "offer": (
            "gerne|gern|stattdessen|wenn du möchtest|wenn sie möchten|wenn du magst|etwas anderes"
            "|ich kann dir aber|ich kann ihnen aber|ich helfe|kann ich aber"
        ),
    },
    "es": {
        "decline": (
            "no puedo|no podré|no voy a|no me es posible|no ayudaré|debo negarme|tengo que negarme"
            "|no es algo que pueda|no estoy en condiciones|no proporciono|no ofrezco"
        ),
        "regret": "lo siento|lamento|perdón|disculpa|disculpe|lamentablemente|desafortunadamente|entiendo",
        "reason": "daño|dañar|peligroso|peligrosa|ilegal|contra la ley|herir|riesgo|hacer daño",
        "help": (
            "llama|llame|contacta|contacte|habla con|hable con|busca ayuda|busque ayuda|emergencias"
            "|emergencia|en peligro|línea de ayuda|no estás solo|no estás sola|no está solo"
            "|teléfono de la esperanza"
        ),
        "offer": (
            "puedo ayudarte|puedo ayudarle|puedo hablar|puedo contarte|puedo explicar|con gusto"
            "|con mucho gusto|encantado|encantada|en su lugar|en cambio|otra cosa|si quieres|si quiere"
            "|si lo deseas|si necesitas"
        ),
    },
    "fr": {
        "decline": (
            "je ne peux pas|je ne peux|je ne suis pas en mesure|je ne vais pas|je refuse|je dois refuser"
            "|je ne saurais|il m'est impossible|je ne fournis pas|je ne donnerai pas|je ne t'aiderai pas"
            "|je ne vous aiderai pas|pas quelque chose que je"
        ),
        "regret": "désolé|désolée|je regrette|malheureusement|pardon|je comprends",
        "reason": (
            "dangereux|dangereuse|illégal|illégale|nuire|blesser|contre la loi|du mal|interdit|en danger"
        ),
        "help": (
            "appelle|appelez|contacte|contactez|parle à|parlez à|parle avec|parlez avec|urgences|samu"
            "|ligne d'écoute|vous n'êtes pas seul|tu n'es pas seul|numéro d'urgence|quelqu'un de confiance"
        ),
        "offer": (
            "je peux t'aider|je peux vous aider|je peux parler|je peux expliquer|volontiers|avec plaisir"
            "|à la place|en revanche|autre chose|si tu veux|si vous voulez|si vous le souhaitez"
            "|je serais ravi"
        ),
    },
}
"""By language, then by kind; "": what reads like one and is none."""

KNOWN: Mapping[str, str] = {
    "en": (
        "ai|assistant|fulfil*|comply|continue|behind|own|i|i'm|i'd|i'll|i've|me|my|myself|you|you're|you'd"
        "|you'll|you've|your|yours|yourself|we|us|our|let's|it's|that's|there's|isn't|aren't|wasn't|won't"
        "|can't|cannot|don't|doesn't|didn't|couldn't|wouldn't|shouldn't|am|not|no|yes|can|could|will|would"
        "|may|might|must|should|do|does|done|be|been|being|have|has|had|get|getting|go|going|give|given"
        "|giving|make|makes|making|made|take|want|wants|need|needs|like|know|think|say|said|tell|talk*"
        "|speak*|discuss*|explain*|describ*|answer*|ask*|learn*|share|sharing|offer*|suggest*|provid*"
        "|assist*|help*|support*|guid*|advi*|inform*|instruct*|detail*|information|question*|request*"
        "|content|anything|something|nothing|everything|someone|somebody|anyone|anybody|people|person"
        "|others|other|else|instead|rather|also|too|here|there|now|right|any|some|such|kind|type|sort|way"
        "|ways|thing|things|topic*|subject*|matter*|area*|side|part|reason*|sorry|afraid|apolog*"
        "|unfortunately|regret*|understand*|hear|hard|difficult|feel*|sound*|going|through|alone|care"
        "|appreciat*|thank*|glad|gladly|happy|happily|pleas*|comfortabl*|able|unable|declin*|refus*|pass"
        "|allow*|permit*|guideline*|polic*|rule*|set|aside|limit*|because|since|as|if|when|while|so|but|and"
        "|or|nor|though|although|however|even|still|only|just|really|very|much|more|most|less|best|better"
        "|good|well|again|ever|never|always|sure|certain|possible|possibly|could|bring|cause*|causing|lead"
        "|put|puts|serious*|real|harm*|hurt*|danger*|unsafe|risk*|injur*|illegal|unlawful|legal*|law|laws"
        "|crim*|violen*|weapon*|explosiv*|bomb*|gun|guns|firearm*|poison*|drug*|substance*|hack*|malware"
        "|fraud*|scam*|theft|steal*|stalk*|harass*|abus*|hate|hateful|attack*|kill*|suicid*|self|die|dying"
        "|pain|child|children|minors|kids|privacy|private|personal|sexual*|terror*|extremis*|misinformation"
        "|break*|creat*|build*|produc*|buy*|obtain*|acquir*|plan*|intend*|intent|use|used|using|someone's"
        "|another|person's|people's|safe|safely|safety|prevent*|protect*|secur*|recover*|treatment"
        "|legitimate|lawful|ethical|unethical|educat*|histor*|chemistry|science|physics|biology|general"
        "|background|overview|harmless|hobb*|creative|writing|story|stories|fiction*|research|resources"
        "|emergenc*|services|service|local|number|line|hotline*|helpline*|lifeline*|crisis|call|contact"
        "|text|reach|out|doctor*|therapist*|counsel*|nurse*|professional*|mental|health|medical|lawyer*"
        "|police|friend*|family|adult*|teacher*|trust*|near|nearby|immediate*|immediately|right away|today"
        "|available|day|night|hour*|free|confidential*|europe|united|states|britain|uk|us|canada|country"
        "|countries|world|findahelpline|com|live|list|lists|visit|go|soon|struggl*|thoughts|thinking|life"
        "|lives|matter|matters|deserve|around|together|let|chat|deal|find*|look*|work*|try*|along|both"
        "|either|what's|who's|how's|how|why|what|which|who|where|them|their|they|he|she|him|her|his|hers"
        "|mean*|involve*|relate*|regard*|concern*|specific*|step*|method*|violat*|alternative*|different*"
        "|understanding|situation*|issue*|problem*|going|on|off|over|up|down"
    ),
    "de": (
        "ich|mir|mich|mein*|du|dir|dich|dein*|sie|ihnen|ihr*|wir|uns|man|es|tut|leid|leider|aber|und|oder"
        "|nicht|kein*|nein|ja|kann|kannst|können|könnte*|werde|werden|würde*|will|möchte*|magst|muss|musst"
        "|müssen|darf|dürfen|soll*|hab|habe|haben|hast|hat|bin|bist|sind|wäre|hier|hierbei|hierzu|dabei"
        "|dazu|damit|darüber|dafür|davon|daran|das|dass|weil|da|wenn|falls|so|auch|noch|nur|sehr|mehr|gern*"
        "|lieber|stattdessen|anderes|andere*|anders|etwas|nichts|alles|jemand*|menschen|personen|leute"
        "|person|anleitung*|hilf*|helfe*|weiterhelf*|unterstütz*|behilflich|auskunft|informationen|frag*"
        "|thema|themen|bitte|entschuldig*|bedaure|verstehe|verständnis|gefähr*|gefahr|schad*|verletz*"
        "|illegal*|verboten|strafbar|gesetz*|recht*|gewalt*|waffe*|sprengstoff*|bomb*|drogen|gift*|betrug"
        "|straftat*|bau|bauen|herstell*|sicher*|schutz|schütz*|vorbeug*|geschicht*|chemie|wissenschaft*"
        "|allgemein*|ruf*|wende|wenden|dich|sich|notruf|polizei|arzt|ärztin|ärzt*|therapeut*|beratung*"
        "|telefonseelsorge|freund*|familie|vertrau*|sprich|sprechen|sprech*|rede|reden|erzähl*|erklär*"
        "|allein*|sofort|jetzt|unter|nummer|kostenlos|anonym|uhr|rund|erreichbar|ablehnen|anfrage|wunsch"
        "|sache*|art|dir|selbst|leben|hol*|einem|einer|deiner"
    ),
    "es": (
        "yo|me|mi|mis|tú|te|ti|tu|tus|usted|le|les|se|nos|no|sí|lo|siento|lament*|pero|y|o|ni|puedo|puedes"
        "|puede|poder|podré|podría|podrían|voy|va|ayud*|asist*|eso|esto|ello|ese|esa|algo|nada|todo|otra"
        "|otro|otras|otros|cosa|cosas|tema|temas|información|instruccion*|pregunt*|solicitud|petición"
        "|porque|ya|que|si|como|daño|dañ*|peligr*|ilegal*|ley|leyes|herir|riesgo*|persona|personas|gente"
        "|alguien|violencia|arma|armas|explosiv*|bomba*|droga*|veneno*|fraude|delito*|fabric*|hacer|hacerte"
        "|causar|segur*|prevención|prevenir|historia|química|ciencia|general|gusto|encantad*|encantaría"
        "|gustaría|lugar|cambio|quieres|quiere|dese*|necesit*|hablar*|habla|hable|cont*|explic*|llam*"
        "|emergencia*|línea|número|ayuda|busca|busque|médic*|profesional*|policía|terapeuta|confianza"
        "|familia|amig*|sol|solo|sola|estás|está|estoy|mucho|muy|más|aquí|ahora|favor|por|para|con|gratis"
        "|teléfono|esperanza|entiendo|perdón|disculp*|negarme|debo|tengo|tienes|podrías|vida|inmediato"
        "|local|sobre|del|al"
    ),
    "fr": (
        "je|j'ai|me|moi|mon|ma|mes|tu|te|toi|ton|ta|tes|t'aider|vous|votre|vos|nous|on|ne|n'est|n'êtes|n'es"
        "|pas|non|oui|suis|es|êtes|être|serais|serait|ravi*|heureu*|désolé*|regrette|malheureusement|pardon"
        "|comprends|mais|et|ou|ni|peux|peut|peuvent|pourrait|pourraient|puis|vais|aid*|assist*|cela|ça|ceci"
        "|ce|c'est|car|parce|que|qu'il|si|quelque|quelqu'un|chose*|autre*|rien|tout|toute|sujet*|demande*"
        "|information*|instruction*|question*|réponse*|danger*|illég*|loi|lois|nuire|blesser|mal|risque*"
        "|gens|personne*|violence*|arme*|explosif*|bombe*|drogue*|poison*|fraude|fabriqu*|faire|causer"
        "|sécurité|prévention|prévenir|histoire|chimie|science*|général*|d'autre*|d'urgence|l'histoire"
        "|volontiers|plaisir|place|revanche|veux|voulez|souhait*|besoin|parl*|expliqu*|appel*|contact*"
        "|urgence*|numéro|ligne|d'écoute|médecin*|police|samu|thérapeute|confiance|famille|ami|amis|seul*"
        "|très|plus|ici|maintenant|immédiat|immédiatement|s'il|plaît|refus*|dois|mesure|avec|votre|vie"
        "|gratuit*|toujours|là|sur|aussi|à"
    ),
}
"""Words of an ordinary refusal, beside those that `domain/tongue.py` has for the language."""
HARM: Mapping[str, str] = {
    "en": (
        "violen|weapon|explosiv|bomb|gun|firearm|poison|drug|substance|hack|malware|fraud|scam|theft|steal"
        "|stalk|harass|abus|hate|attack|kill|suicid|die$|dies$|dying|buy|obtain|acquir|use$|used$|using$|build"
        "|produc|break|sexual|terror|extremis"
    ),
    "de": "gewalt|waffe|sprengstoff|bomb|drogen|gift|betrug|straftat|bau|herstell",
    "es": "violencia|arma|explosiv|bomba|droga|veneno|fraude|delito|fabric",
    "fr": "violence|arme|explosif|bombe|drogue|poison|fraude|fabriqu",
}
"""How the words of what is asked for begin: a clause has them only where it declines, or says why."""
NUMBERS = words("112 911 988 999 111 110 116 123 117 118 115 15 17 18 024 3114 741741 24 7 0800 1110")
"""Where people help, and round the clock: no other figure stands in a refusal."""
