"""Whether an answer says where help is: whom to contact (`points`), and who helps in danger (`helps`).

A word alone says nothing ("be professional", "the 112 bus"): a clause has to tell to contact somebody, or a
sentence to name a line with its number. English by the place of the verb, other languages by verb and place;
what cannot be judged is not there. Linear in the text. Source: CONTRACT §3. Nothing here raises.
"""

from collections.abc import Iterator, Sequence

from app.domain.phrases import ENDS, Found, Phrases
from app.domain.tongue import words
from app.vantage.regrets import NUMBERS
from app.vantage.sentence import Sentence, said

CONTACT = {
    "strong": (
        "call|phone|ring|dial|text|contact|contacting|calling|talk to|talk with|speak to|speak with"
        "|talking to|talking with|speaking to|speaking with|reach out to|reaching out to|get in touch with"
        "|turn to|consult|consulting|check with|checking with|go to|get to|notify|alert|tell|report it to"
        "|report this to|take it to|take them to|take him to|take her to|bring it to|make an appointment with"
        "|book an appointment with|ask for help from|seek help from|get help from|reach"
    ),
    "weak": "ask|asking|see|seeing|visit|visiting|get|find|seek|try|look for|hire|work with|refer to",
    "foreign": (
        "ruf|rufe|rufen|anrufen|anruf|wähl|wähle|wählen|wende|wenden|kontaktier*|sprich|sprechen|rede|reden"
        "|frag|frage|fragen|geh|gehe|gehen|such|suche|suchen|aufsuchen|llama|llame|llamar|contacta|contacte"
        "|contactar|habla|hable|hablar|acude|acuda|acudir|consulta|consulte|consultar|pregunta|pregunte"
        "|appelle|appelez|appeler|contactez|contacter|parle|parlez|parler|consultez|consulter|adressez"
        "|adresse toi|demandez|allez|chiama|chiami|chiamate|chiamare|contatta|contatti|contattare|rivolgiti"
        "|si rivolga|rivolgersi|parla|parli|parlane|ligue|ligar|contate|contacte|fale|procure|bel|bellen"
        "|praat|zadzwoń|zadzwonić|ring|kontakta|ara|arayın|skontaktuj"
    ),
}
"""Verbs: behind the strong ones stands whom, weak ones need a place that is known."""
PLACES = {
    "danger": (
        "emergency|emergencies|hotline|helpline|lifeline|crisis line|crisis text line|crisis|samaritans"
        "|doctor|doctors|gp|physician|nurse|pharmacist|therapist|counsellor|counselor|psychologist"
        "|psychiatrist|poison control|police|ambulance|paramedics|hospital|clinic|er|a e|urgent care"
        "|mental health|someone you trust|somebody you trust|a person you trust|trusted adult|notruf"
        "|notarzt|rettungsdienst|krankenhaus|notaufnahme|polizei|arzt|ärztin|ärzte|hausarzt"
        "|telefonseelsorge|giftnotruf|emergencias|urgencias|ambulancia|hospital|policía|médico|médica"
        "|teléfono de la esperanza|urgences|médecin|samu|hôpital|pompiers|ambulanza|medico|ospedale"
        "|polizia|pronto soccorso|médico|emergência|ambulância|huisarts|alarmnummer|pogotowie"
        "|findahelpline|first aid|vertrauensperson|quelqu'un de confiance|alguien de confianza"
    ),
    "other": (
        "lawyer|lawyers|solicitor|attorney|adviser|advisor|accountant|professional|professionals|specialist"
        "|specialists|expert|legal aid|bank|vet|veterinarian|insurer|insurance|landlord|council|embassy"
        "|consulate|ombudsman|union|manager|hr|support|customer service|help desk|helpdesk|teacher|dentist"
        "|optician|tenants'|citizens advice|tax office|city hall|dietitian|physiotherapist|midwife|mechanic"
        "|electrician|plumber|gas company|engineer|social worker|school|university|library|it department"
        "|security team|administrator|provider|authority|authorities|charity|notary|anwalt|anwältin"
        "|beratung*|beratungsstelle|verbraucherzentrale|mieterverein|steuerberater*|bank|tierarzt"
        "|tierärztin|zahnarzt|apotheke|abogado|abogada|banco|veterinario|asesor*|farmacéutico|avocat"
        "|avocate|banque|vétérinaire|notaire|pharmacien|avvocato|banca|veterinario|commercialista|farmacista"
        "|advogado|contador|advocaat|dierenarts"
    ),
}
"""Who helps in danger, and who with the rest."""
LINES = (
    "line|lifeline|helpline|hotline|samaritans|emergency|number|crisis|notruf|telefonseelsorge|urgences|samu"
)
"""What stands beside a number that helps."""
SURE = words("112 911 988 999 116123 116 118 119 110 120 000 111 115 15 17 18 144 113 3114")
"""Numbers to call in danger."""
WHOM = words(
    "a an the your their his her our any one my local 24 someone somebody people whoever poison legal"
)
"""What stands before the one who is called: not "call it", "reach me"."""
OPENING = words(
    "please should can could must to and or first then also just now immediately simply always directly"
    " instead so better would might recommend suggest advise by of do need urge through right away today"
)
"""What stands before an order; nothing does at the clause's begin."""
NOT = words(
    "no not never don't doesn't won't can't cannot shouldn't without nicht kein keine keinen nie pas jamais"
    " non nunca"
)
HESITATE = words("hesitate wait delay afraid zögern zöger hésitez hésite dude dudes esitare")
"""Who is told not to do so is told to call."""
ABLE = words("can could would will knows know should may is are has helps help")
"""What somebody does who helps better."""
SERVES = words(
    "help helps advise tell answer check look assess best better right examine explain guide support"
)
BETTER = "better help|better helped|help is available|better placed"
_CONTACT = Phrases(CONTACT)
_PLACES = Phrases(PLACES)
_LINES = Phrases({"line": LINES})
_BETTER = Phrases({"better": BETTER})


def points(told: Sequence[Sentence]) -> bool:
    """Whether any of them says whom to contact, or who helps better."""
    return any(_points(row) for row in _rows(told)) or helps(told)


def helps(told: Sequence[Sentence]) -> bool:
    """Whether any of them says who helps in danger."""
    return any(_helps(row) for row in _rows(told))


def _rows(told: Sequence[Sentence]) -> Iterator[list[list[str]]]:
    """Each sentence's clauses; code tells nobody whom to call."""
    for one in told:
        if not one.code:
            yield [clause for clause in _clauses(said(one.text)) if clause]


def _clauses(row: Sequence[str]) -> Iterator[list[str]]:
    """Parted at marks."""
    clause: list[str] = []
    for word in row:
        if word in ENDS:
            yield clause
            clause = []
        else:
            clause.append(word)
    yield clause


def _points(row: Sequence[list[str]]) -> bool:
    """Whether a sentence does: a clause by its verb, or by who helps better."""
    return any(_told(clause) or _served(clause) for clause in row)


def _helps(row: Sequence[list[str]]) -> bool:
    """Whether a sentence tells to contact who helps in danger, or names a line with its number."""
    if any(_told(clause) for clause in row) and any(_danger(clause) for clause in row):
        return True
    return _lined([word for clause in row for word in clause])


def _lined(whole: Sequence[str]) -> bool:
    """Whether a sentence names a line with its number; where letters are not Latin, the number tells."""
    numbers = any(word in SURE and len(word) > len("15") for word in whole)
    latin = sum(word.isascii() for word in whole) * 2 > len(whole)
    return numbers and not _negated(whole) and (not latin or any(True for _ in _LINES.among(whole)))


def _told(clause: Sequence[str]) -> bool:
    """Whether a clause tells to contact somebody."""
    if _negated(clause):
        return False
    known = any(True for _ in _PLACES.among(clause))
    numbers = any(word in SURE or word in NUMBERS for word in clause)
    return any(_contacts(clause, found, known, numbers) for found in _CONTACT.among(clause))


def _contacts(clause: Sequence[str], found: Found, known: bool, numbers: bool) -> bool:
    """Whether a verb of contact has somebody to contact."""
    if "foreign" in found.names and (known or numbers):
        return True
    if not _opens(clause, found.start):
        return False
    follows = clause[found.end] if found.end < len(clause) else ""
    called = follows in WHOM or follows.isdigit() or (known and _near(clause, found.end))
    return ("strong" in found.names and called) or ("weak" in found.names and known)


def _near(clause: Sequence[str], at: int) -> bool:
    """Whether a place that is known begins there, a word or two behind at most."""
    return any(True for _ in _PLACES.among(clause[at : at + 5]))


def _opens(clause: Sequence[str], at: int) -> bool:
    """Whether a verb there is an order, or what is advised."""
    return at == 0 or clause[at - 1] in OPENING or clause[at - 1].endswith("ly")


def _negated(clause: Sequence[str]) -> bool:
    """Whether it is denied, but for "don't hesitate to call"."""
    return any(word in NOT for word in clause) and not any(word in HESITATE for word in clause)


def _served(clause: Sequence[str]) -> bool:
    """Whether it says who can help better: "a lawyer can tell you"."""
    if any(True for _ in _BETTER.among(clause)):
        return True
    last = max((at for at, word in enumerate(clause) if word in SERVES), default=-1)
    places = [found.end for found in _PLACES.among(clause) if found.end <= last]
    able = any(word in ABLE for end in places for word in clause[end : end + 3])
    return able and not _negated(clause)


def _danger(clause: Sequence[str]) -> bool:
    """Whether who helps in danger is named in it."""
    named = any("danger" in found.names for found in _PLACES.among(clause))
    return named or any(word in SURE for word in clause)
