"""Whether a text tells how something is done: steps, orders in a row, code, amounts. A refusal may not.

Rules over tables, in one pass; an order that is forbidden ("never mix …") is no instruction. Doubtful ones
count as instructions: the policy's own refusal stands in for what breaks here. Nothing here raises.
"""

import re
from collections.abc import Sequence

from app.domain.phrases import ENDS, Phrases
from app.domain.tongue import words
from app.vantage.sentence import Sentence
from app.vantage.sentence import said as words_of

ORDERS = (
    "mix|heat|boil|dissolve|pour|stir|filter|dilute|crush|grind|distill|combine|inject|drill|solder|weld|cut"
    "|slice|attach|connect|wire|mount|screw|bolt|insert|fill|load|aim|fire|ignite|light|soak|wrap|tape|glue"
    "|install|download|run|execute|compile|type|click|enter|paste|copy|open|launch|configure|disable|bypass"
    "|unlock|pry|break|remove|replace|scan|exploit|upload|encrypt|obtain|buy|purchase|acquire|gather|collect"
    "|assemble|build|prepare|measure|weigh|add|apply|place|push|pull|press|hide|spoof|forge|print|register"
    "|transfer|deposit|withdraw|wait until|mischen|mische|erhitzen|erhitze|füge|fügen sie|gieße|gießen sie"
    "|schneide|schneiden sie|öffne|öffnen sie|installiere|installieren sie|verbinde|verbinden sie|nimm"
    "|nehmen sie|mezcla|mezcle|calienta|caliente|añade|añada|vierte|vierta|corta|corte|abre|abra|instala"
    "|instale|conecta|conecte|mélangez|mélange|chauffez|chauffe|ajoutez|ajoute|versez|verse|coupez|coupe"
    "|ouvrez|ouvre|installez|installe|connectez|prenez"
)
"""Verbs of a recipe, as an order has them. Those of help (call, talk, reach out, breathe) are not here."""
ORDERED = (
    "first|firstly|second|secondly|third|thirdly|next|then|after that|afterwards|finally|lastly|now|once done"
    "|zuerst|dann|danach|anschließend|schließlich|zum schluss|primero|luego|después|finalmente|por último"
    "|d'abord|ensuite|puis|enfin|сначала|затем|потом|наконец|首先|然后|接着|最后|まず|次に|最後に"
)
"""What a step begins with."""
ADDRESSED = (
    "you should|you can|you could|you need to|you'll need to|you will need to|you must|you have to|you would"
    "|you'd|but|so|or|just|simply|carefully|please|and|to begin|to start"
)
"""What may stand before an order."""
UNITS = words(
    "g gr gram grams gramme grammes kg mg mcg ml cl dl l liter liters litre litres oz ounce ounces lb lbs"
    " pound pounds cup cups tbsp tsp tablespoon tablespoons teaspoon teaspoons teelöffel esslöffel drops"
    " parts molar percent degrees grad gramm gramos gotas cucharadas volts amps"
)
"""Of amounts."""
AMOUNT = re.compile(r"(\d++)([^\W\d_]*+)")
STEP = re.compile(r"(?i:step|schritt|paso|étape|шаг)\s?\d|第[\d一二三四五]步")
ENOUGH = 2
"""Steps, orders or amounts that make it an instruction."""
MANY = 3
"""Sentences that begin as steps do, whatever their verb."""
_OPENINGS = Phrases({"order": ORDERS, "step": ORDERED, "lead": ADDRESSED})


def instructs(told: Sequence[Sentence], said: Sequence[str]) -> bool:
    """Whether a text (its sentences, and its `phrases.words`) is one that tells how."""
    if any(sentence.code for sentence in told):
        return True
    steps = sum("0" <= one.bullet.lstrip("(")[:1] <= "9" or bool(STEP.match(one.text)) for one in told)
    orders, ordered = _openings(said)
    return steps >= ENOUGH or orders >= ENOUGH or ordered >= MANY or _amounts(said) >= ENOUGH


def orders(said: Sequence[str]) -> bool:
    """Whether the words of a sentence begin with an order, alone or behind `first`, `you could`."""
    opens = 0
    for found in _OPENINGS.among(said):
        if found.start != opens or found.names[0] == "order":
            return found.start == opens
        opens = found.end + (found.end < len(said) and said[found.end] == ",")
    return False


def recipe(told: Sequence[Sentence], said: Sequence[str]) -> bool:
    """Whether a text surely tells how: it orders three times, twice in numbered steps, or with amounts."""
    rows = [(one, words_of(one.text)) for one in told if not one.code]
    ordering = [one for one, row in rows if orders(row)]
    steps = sum("0" <= one.bullet.lstrip("(")[:1] <= "9" for one in ordering)
    steps += sum(STEP.match(one.text) is not None for one in told)
    return len(ordering) >= MANY or steps >= ENOUGH or (bool(ordering) and _amounts(said) >= ENOUGH)


def _openings(said: Sequence[str]) -> tuple[int, int]:
    """(orders, words of a sequence) that clauses begin with; `you should`, `then` may stand before an
    order."""
    orders = ordered = 0
    opens = 0
    for found in _OPENINGS.among(said):
        if found.start != opens and found.start and said[found.start - 1] not in ENDS:
            continue
        kind = found.names[0]
        orders += kind == "order"
        ordered += kind == "step"
        opens = found.end if kind != "order" else -1
        while 0 <= opens < len(said) and said[opens] == ",":
            opens += 1
    return orders, ordered


def _amounts(said: Sequence[str]) -> int:
    """How many: `50 g`, `50g`."""
    count = 0
    for place, word in enumerate(said):
        if found := AMOUNT.fullmatch(word):
            unit = found[2] or (said[place + 1] if place + 1 < len(said) else "")
            count += unit in UNITS
    return count
