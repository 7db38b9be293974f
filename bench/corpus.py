"""Passages that nobody wrote, and questions on them: a row's text is the same on any machine and run.

About 200 o200k tokens a text, on one of 1,000 subjects (a thing in a place). Surnames are drawn from 20,000,
a few of them met everywhere and most hardly ever, so that word searches meet long lists and short ones.
"""

import random

SESSION = "bench"
"""The session that asks."""
SUBJECTS = 1_000


def words(line: str) -> list[str]:
    """Of a line."""
    return line.split()


THINGS = words(
    "ferry lighthouse orchard foundry observatory vineyard quarry harbour railway reservoir theatre "
    "brewery library shipyard granary aqueduct monastery apiary windmill tannery glasshouse "
    "printworks ropewalk saltworks tramway weather-station clock-tower paper-mill fish-market "
    "botanical-garden copper-mine dairy-farm sea-wall swing-bridge music-school grain-exchange "
    "canal-lock power-house art-gallery tea-house"
)
PLACES = words(
    "Almere Borvika Castellan Dunmore Eskdale Fennwick Galloway Harlow Istria Jarrow Kelmscott "
    "Lindholm Maribor Norrland Orkney Penrith Quimper Ravenna Skagen Tarvin Ullapool Varberg Wexford "
    "Yarmouth Zadar"
)
SENTENCES = (
    "In {year} the {thing} of {place} was handed over to {name}, who kept its accounts for {count} years.",
    "According to {name}, repairs to the {thing} took {count} weeks and cost {amount} crowns.",
    "The council of {place} had asked for a second survey, which {name} finished in the spring of {year}.",
    "Visitors noticed that the {other} nearby drew {count} people a day, while the {thing} drew fewer.",
    "A letter from {name} mentions the frost of {year} and the damage it did to the {thing}.",
    "Wages at the {thing} rose by {count} per cent after the dispute with {name} had been settled.",
    "The records of {place} list {amount} deliveries, most of them signed by {name}.",
    "Nobody in {place} could say why the {thing} stood still for {count} days in {year}.",
    "When {name} returned to {place}, the {other} had been sold and the {thing} painted green.",
    "The engineer, {name}, proposed a wider gate for the {thing} and a smaller one for the {other}.",
    "Its insurance lapsed in {year}, as {name} reported to the owners with some delay.",
    "By {year} the {thing} supplied {count} households in and around {place}.",
)
SYLLABLES = words("ba den fir gol han jor kel lum mar nev os pir ran sil tor ul ven wik yar zan")


def subject(row: int) -> int:
    """Which of the SUBJECTS a row is about: scattered, so that every document holds many."""
    return (row * 2_654_435_761 >> 7) % SUBJECTS


def named(number: int) -> tuple[str, str]:
    """A subject's thing and place."""
    return THINGS[number % len(THINGS)].replace("-", " "), PLACES[number // len(THINGS) % len(PLACES)]


def name(chance: random.Random) -> str:
    """A surname; some are met often and most seldom, as in real texts."""
    own = random.Random(int(20_000 ** chance.random()))
    return "".join(own.choices(SYLLABLES, k=3)).capitalize()


def text(row: int, number: int | None = None) -> str:
    """A passage of nine sentences."""
    chance = random.Random(row)
    thing, place = named(subject(row) if number is None else number)
    return " ".join(
        sentence.format(
            thing=thing,
            place=place,
            other=chance.choice(THINGS).replace("-", " "),
            name=name(chance),
            year=chance.randrange(1700, 1990),
            count=chance.randrange(2, 99),
            amount=chance.randrange(100, 99_999),
        )
        for sentence in chance.sample(SENTENCES, 9)
    )


def question(n: int) -> str:
    """A question on one of the subjects; of ten thousand hardly two are alike."""
    chance = random.Random(-1 - n)
    thing, place = named(chance.randrange(SUBJECTS))
    return f"What did {name(chance)} say of the {thing} in {place} in {chance.randrange(1700, 2000)}?"
