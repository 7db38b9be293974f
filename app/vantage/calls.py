"""Emergencies as German, Spanish and French call them: the core of the families in `emergencies.py`.

Lines are patterns as there, over words without accents and apostrophes. What no line knows stays neutral.
Nothing here raises.
"""

from collections.abc import Mapping

PART_OF = "mann frau vater mutter papa mama sohn tochter kind baby freund freundin bruder schwester oma opa"
NIETO = """hijo hija padre madre papa mama marido esposo esposa mujer novio novia hermano hermana abuelo
    abuela amigo amiga bebe nino nina tio tia"""
FILS = """mari femme pere mere papa maman fils fille enfant bebe frere soeur ami amie copain copine
    grand_pere grand_mere voisin voisine"""


def either(words: str) -> str:
    """One of them, as a pattern; `_` joins words."""
    return f"(?:{'|'.join(word.replace('_', ' ') for word in words.split())})"


PEOPLE: Mapping[str, str] = {
    "wer": rf"(?:er|sie|jemand|(?:mein|meine|unser|unsere|das|der|die)(?: [a-z]+)? {either(PART_OF)})",
    "quien": rf"(?:el|ella|alguien|(?:mi|nuestro|nuestra|el|la)(?: [a-z]+)? {either(NIETO)})",
    "qui": rf"(?:il|elle|quelquun|(?:mon|ma|notre|le|la)(?: [a-z]+)? {either(FILS)})",
}
"""Slot → pattern: who it is said of."""

CALLS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "de": (
        (
            "atmet luft atmen bewusstlos nicht geschluckt verschluckt genommen getrunken herzinfarkt"
            " schlaganfall"
            " blutet blute brennt wurgt erstickt ersticke uberdosis"
        ),
        (
            "{wer} atmet (?:nicht|kaum)",
            "(?:bekomme|kriege|bekommt|kriegt) (?:keine|kaum) luft",
            "(?:ich|{wer}) kann (?:nicht|kaum) (?:mehr )?atmen",
            "(?:{wer} ist|ist {wer}) (?:bewusstlos|nicht ansprechbar|nicht bei bewusstsein)",
            (
                "(?:ich|{wer}) (?:habe?|hat)(?: [a-z]+){0,3} (?:tabletten|pillen|bleichmittel|batterie"
                "|knopfzelle|gift"
                "|putzmittel|reiniger) (?:geschluckt|verschluckt|getrunken)"
            ),
            (
                "(?:ich|{wer}) (?:habe?|hat)(?: [a-z]+){0,2} (?:zu viele|alle|viele|eine ganze packung"
                "|uberdosis|\\d\\d)"
                "(?: [a-z]+){0,2} genommen"
            ),
            "(?:ich habe?|{wer} hat)(?: gerade)? einen (?:herzinfarkt|schlaganfall|krampfanfall)",
            "(?:ich blute|{wer} blutet) (?:stark|sehr|heftig)",
            "(?:haus|wohnung|kuche|zimmer) brennt",
            "(?:ich ersticke|{wer} erstickt|{wer} wurgt mich)",
        ),
    ),
    "es": (
        (
            "respirar respira inconsciente infarto derrame convulsiones pastillas pila lejia cloro veneno"
            " sangra"
            " sangrando sangrar incendia llamas ardiendo quemando ahoga ahogando asfixiando estrangula"
            " sobredosis brazo"
        ),
        (
            "no (?:puedo|puede|podemos) respirar",
            "{quien}(?:(?: [a-z]+){0,4} y)? (?:ya )?no respira",
            "{quien} esta (?:inconsciente|convulsionando|sangrando mucho|ahogandose|asfixiandose)",
            "(?:me|le|{quien}) (?:esta|estoy)? ?(?:dando|teniendo|sufriendo) un (?:infarto|derrame|ataque)",
            (
                "(?:me )?(?:trague|tome|bebi|he tragado|he tomado|se trago|se tomo|se bebio)(?:"
                " [a-z]+){0,3}? "
                "(?:muchas pastillas|todas las pastillas|\\d\\d pastillas|frasco de pastillas|pila|lejia"
                "|cloro|veneno)"
            ),
            "(?:me trague|he tragado|se trago)(?: [a-z]+){0,3} pastillas",
            "(?:no deja|no para) de sangrar",
            "(?:mi|la|nuestra) casa (?:se incendia|se esta quemando|esta en llamas|esta ardiendo)",
            "(?:me|se) esta (?:ahogando|asfixiando|estrangulando)",
            "dolor(?: [a-z]+)? en el pecho(?: [a-z]+){0,5} brazo",
        ),
    ),
    "fr": (
        (
            "respirer respire inconscient inconsciente crise avc infarctus comprimes medicaments cachets"
            " pile javel"
            " poison saigne saigner brule feu etouffe setouffe metouffe metrangle 'etouffe 'etrangle"
            " etrangle overdose bras"
        ),
        (
            "(?:jarrive|je narrive|narrive) (?:plus|pas) a respirer",
            "je (?:ne )?peux (?:plus|pas) respirer",
            "{qui} (?:ne )?respire (?:plus|pas)",
            "{qui} est inconsciente?",
            "(?:{qui} fait|je fais) (?:une crise cardiaque|un avc|un infarctus|une overdose)",
            (
                "(?:jai|{qui} a)(?: [a-z]+)? (?:avale|bu)(?: [a-z]+){0,3} "
                "(?:comprimes|medicaments|cachets|pile|javel|poison)"
            ),
            (
                "(?:jai|{qui} a)(?: [a-z]+)? pris (?:trop de|tous (?:mes|ses|les)|\\d\\d|une boite de) "
                "(?:comprimes|medicaments|cachets)"
            ),
            "(?:je|{qui}) saigne (?:beaucoup|abondamment|enormement)",
            "(?:ma|la|notre) (?:maison|cuisine) (?:brule|est en feu|prend feu)",
            "(?:je metouffe|{qui} setouffe|{qui} metrangle)",
        ),
    ),
}
"""Tongue → its telling words, its patterns."""
