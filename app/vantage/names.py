"""Names that people are called by: a message of nothing else does not say what is wanted of them.

A few hundred of the commonest; those that are words or places as well (Rose, Paris, Jordan) are left out.
Lower case. Nothing here raises.
"""

from collections.abc import Sequence

from app.domain.tongue import words

GIVEN = words(
    "james john robert michael david william richard joseph thomas charles christopher daniel matthew"
    " anthony donald steven paul andrew joshua kenneth kevin brian george timothy ronald edward jason"
    " jeffrey ryan jacob gary nicholas eric jonathan stephen larry justin scott brandon benjamin samuel"
    " gregory alexander patrick jack dennis jerry tyler aaron jose adam nathan henry peter zachary kyle"
    " walter ethan jeremy harold keith christian roger noah gerald carl terry sean arthur lawrence jesse"
    " dylan bryan joe billy bruce albert willie gabriel logan alan juan ralph eugene russell bobby philip"
    " louis oliver leo liam lucas oscar felix hugo max otto emil anton erik lars sven olaf jens klaus hans"
    " fritz dieter wolfgang stefan matthias jürgen uwe pierre jacques luc mathieu antoine carlos miguel"
    " pedro pablo diego javier fernando luis mario luigi giovanni marco matteo lorenzo paolo ivan dmitri"
    " sergei vladimir boris igor mikhail ahmed mohammed muhammad ali omar hassan ibrahim yusuf raj amit"
    " rahul vikram arjun wei hiroshi kenji mary patricia jennifer linda elizabeth barbara susan jessica"
    " sarah karen lisa nancy betty sandra margaret ashley kimberly emily donna michelle carol amanda"
    " melissa deborah stephanie rebecca sharon laura cynthia dorothy amy kathleen angela shirley emma"
    " brenda pamela nicole anna samantha katherine christine debra rachel carolyn janet maria heather"
    " diane olivia julie joyce julia hannah lauren kelly christina joan evelyn judith andrea megan cheryl"
    " jacqueline martha madison teresa sara janice ann kathryn abigail sophia frances jean alice judy"
    " isabella danielle theresa denise charlotte sophie chloe ella mia ava lucy eva clara ida greta ingrid"
    " astrid helga heidi ursula sabine claire camille margaux amélie carmen lucia sofia elena natasha olga"
    " svetlana tatiana irina fatima aisha priya anjali yuki sakura mei bob tom tim dan mike dave steve jim"
    " bill chris alex ben sam nick tony greg jeff matt josh andy kate liz beth jen jenny katie maggie"
    " peggy sally molly polly betsy nina lena lara nora vera zoe"
)
SURNAMES = words(
    "smith johnson williams jones miller davis garcia rodriguez wilson martinez anderson taylor thomas"
    " hernandez moore martin jackson thompson lopez gonzalez harris clark lewis robinson walker perez hall"
    " allen sanchez wright scott hill adams nelson baker campbell mitchell roberts carter phillips evans"
    " turner parker collins edwards stewart morris murphy cook rogers morgan peterson cooper reed bailey"
    " kelly howard müller schmidt schneider fischer weber meyer wagner becker schulz hoffmann dubois"
    " durand moreau rossi russo ferrari bianchi ivanov petrov singh kumar patel sharma nguyen tran chen"
    " wang zhang lee kim park suzuki tanaka sato"
    " brown white green black king young"
)
TITLES = words("mr mrs ms miss dr prof herr frau monsieur madame señor señora")


def named(lower: Sequence[str]) -> bool:
    """Whether all of it is one person's name."""
    if not 0 < len(lower) <= 3:
        return False
    rest = lower[1:] if lower[0] in TITLES else lower
    if not rest:
        return False
    titled = len(rest) < len(lower)
    return all(word in GIVEN or word in SURNAMES for word in rest) and (titled or rest[0] in GIVEN)
