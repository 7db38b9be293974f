"""What people write when a life is in danger now, by family: who, what happens, to which part, how much.

Lines are patterns over a sentence's words without apostrophes (`cant`, `hes`, `jarrive`), folded; `{who}` is
a slot below. A family is looked for where one of its telling words stands. English in full; other tongues
stand in `calls.py`. Source: what emergency services ask callers first (breathing, consciousness, bleeding,
poisoning). Nothing here raises.
"""

from collections.abc import Mapping

from app.vantage.calls import CALLS, PEOPLE, either

NEAR = """husband wife partner spouse boyfriend girlfriend fiance fiancee mother father mom mum mommy mummy
    dad daddy parent parents sister brother sibling son daughter child kid baby toddler infant newborn twin
    grandmother grandfather grandma grandpa granny nan grandson granddaughter aunt uncle cousin niece nephew
    friend roommate flatmate housemate colleague coworker neighbor neighbour boss teacher student ex"""
ANY = "man woman guy girl boy lady person passenger driver customer pedestrian cyclist swimmer old"
BARE = "mom mum mommy mummy dad daddy papa mama grandma grandpa granny nan"
BODY = """leg arm hand wrist finger foot head face neck throat chest stomach belly thigh wound eye cut ear
    mouth"""
PILLS = """pills pill tablets capsules tylenol paracetamol acetaminophen ibuprofen advil aspirin xanax valium
    ambien benadryl antidepressants painkillers meds medication medicine opioids oxycodone oxy
    percocet vicodin klonopin ativan adderall prozac zoloft lithium metformin insulin diazepam codeine
    tramadol melatonin sleeping_pills antihistamines"""
POISON = """bleach antifreeze battery batteries magnet magnets poison detergent pod pods gasoline petrol
    kerosene pesticide herbicide insecticide lye ammonia turpentine methanol drain_cleaner drain_opener
    paint_thinner lamp_oil rat_poison weed_killer oven_cleaner toilet_cleaner nail_polish_remover
    cleaning_fluid acid razor_blade glass_shards needle death_cap hemlock oleander"""
GRAVE = """heart_attack stroke seizure cardiac_arrest anaphylactic_shock anaphylactic_reaction overdose
    severe_allergic_reaction severe_asthma_attack asthma_attack brain_bleed convulsion convulsions"""

SLOTS: Mapping[str, str] = {
    "who": rf"(?:s?he|someone|somebody|{either(BARE)}|(?:my|our|his|her|their)(?: [a-z0-9]+){{0,3}}?"
    rf" {either(NEAR)}"
    rf"|(?:the|this|a|an)(?: [a-z0-9]+){{0,2}}? {either(f'{NEAR} {ANY}')})",
    "then": "(?:(?: [a-z]+){0,7} and(?: s?he)?)?",
    "whose": "(?:my|his|her|(?:my|our) [a-z]+s)",
    "is": "(?:s| is|s just| is just|s now| is now| was just)",
    "am": "(?:im|i am|i (?:might|may|could|must) be)",
    "still": "(?! (?:to (?!anything|me|us|voice|pain|touch)|the|a|her|his|our|my|house|forward|out|away|on))",
    "has": "(?: have| has|ve|s)?(?: only)?(?: just| accidentally)?",
    "cannot": "(?:cant|cannot|can not|can barely|can hardly|can no longer|cant hardly|cant even)",
    "took": "(?:took|taken|swallowed|ate|eaten|drank|drunk|ingested|downed)",
    "many": r"(?:[1-9]\d+|a (?:whole |full |entire |half a )?(?:bottle|box|pack|packet|strip|handful"
    "|bunch|lot|load) of|(?:the|my|his|her) (?:whole|entire|full) (?:bottle|box|pack)(?: of)?|the whole"
    "|too (?:many|much)|all (?:of )?(?:my|his|her|the|our)|lots of|loads of|dozens of|handfuls of|so many"
    "|twelve|fifteen|twenty|thirty|forty|fifty|sixty|a hundred)",
    "pills": either(PILLS),
    "poison": either(POISON),
    "body": either(BODY),
    "grave": either(GRAVE),
    **PEOPLE,
}
"""Slot → pattern; none holds a repetition within another."""

EMERGENCIES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "breathing": (
        "breathe breath breathing suffocating air",
        (
            "(?:i|{who}{then}) {cannot} breathe",
            "(?:{am}|{who}{is}) (?:unable|struggling|not able) to breathe",
            "{who}(?:s| is|s still| is still) not breathing",
            (
                "{who}{then} (?:isnt|aint|is not|is no longer|has stopped|just stopped|stopped)(?: even)?"
                " breathing"
                "(?! (?:exercises?|techniques?|lessons?|life))"
            ),
            "(?:{am}|{who}{is}) (?:suffocating|gasping for (?:air|breath)|fighting for (?:air|breath))",
        ),
    ),
    "choking": (
        "choking drowning",
        (
            "(?:im|i am|{who}{is}) (?:choking|drowning)(?! (?:up|under|in (?!the )|the|his|her|it))",
            "{who}(?:s| is)(?: [a-z]+)? choking me",
        ),
    ),
    "conscious": (
        (
            "unconscious unresponsive responding responsive wake waking moving collapsed passed fainted"
            " conscious"
        ),
        (
            (
                "{who}{is} (?:unconscious|unresponsive|not (?:responsive|waking up|conscious|(?:responding"
                "|moving){still}))"
            ),
            "{who}{then} (?:isnt|aint) (?:responsive|waking up|conscious|(?:responding|moving){still})",
            "{who}{then} (?:wont|will not|doesnt|does not) wake up(?! (?:at|to|on|from (?:his|her) nap))",
            "(?:i cant|i cannot|we cant|cant) wake (?:him|her|{who}) up",
            (
                "{who}(?: has|s)?(?: just| suddenly)? (?:collapsed|fainted|passed out)(?! (?:the|a|papers"
                "|flyers|of))"
            ),
            "{who}(?:s| is) passed out",
        ),
    ),
    "heart": (
        (
            "attack stroke seizure arrest shock reaction chest overdose convulsion convulsions face speech"
            " slurred"
        ),
        (
            (
                "(?:{am}|{who}{is}|{who} (?:may|might|could|must) be) (?:having|in|going into) (?:an? )?"
                "(?:massive |bad |another |sudden )?{grave}"
            ),
            "(?:am i|is {who}) having (?:an? ){grave}",
            "(?:i|{who}){has} just had an? {grave}",
            (
                "chest (?:pains?|hurts|tightness|pressure)(?: [a-z]+){0,6} my (?:left |right )?(?:arm|jaw"
                "|shoulder)"
            ),
            "{who} has chest (?:pains?|tightness)(?: [a-z]+){0,4} (?:breathe|sweating|arm|jaw)",
            "my (?:left |right )?(?:arm|jaw|shoulder)(?: [a-z]+){0,6} chest (?:pains?|hurts|is)",
            (
                "(?:i have|ive|i ve|im having|i am having|{who} has)(?: got)? "
                "(?:severe|crushing|terrible|bad|sudden) (?:chest pains?|pain in (?:my|his|her) chest)"
            ),
            "{whose} face (?:is|has|just)(?: suddenly)? (?:drooping|droopy|drooped)",
            "(?:{whose} speech is slurred|{who}(?:s| is) slurring)",
        ),
    ),
    "bleeding": (
        "bleeding blood stop deep wrist wrists throat artery",
        (
            (
                "(?:{am}|{who}{is}|{whose} {body}(?:s| is)) bleeding"
                " (?:a lot|heavily|badly|out|everywhere|profusely|so much|to death|nonstop|really bad)"
            ),
            "bleeding (?:wont|doesnt|does not|will not|isnt|is not) stop(?:ping)?",
            "(?:wont|cant|cannot|doesnt|will not) (?:stop|stop the) bleeding",
            (
                "(?:i|{who}){has} (?:cut|slit|slashed|sliced) (?:(?:my|his|her) )?(?:left |right |own )?"
                "(?:wrists?|throat|artery|arm|leg|hand|neck|thigh|finger)(?: [a-z]+){0,5} "
                "(?:wont stop|bleeding|blood|(?:really|very|too|so) deep)"
            ),
            (
                "(?:i|{who}){has} (?:cut|slit|slashed) (?:my|his|her)(?: own| left| right)? (?:wrists?|throat"
                "|artery)"
            ),
            "(?:{am}|{who}{is}) (?:losing|coughing up|throwing up|vomiting) (?:a lot of |so much )?blood",
        ),
    ),
    "poisoned": (
        (
            f"{PILLS} {POISON} cleaner opener thinner remover oil fluid cap blade shards killer overdosed"
            f" overdosing"
            " pills"
        ),
        (
            (
                "(?:i|{who}){has} {took} {many}(?: (?!m?c?g |ml |grams |milligrams |iu |units |of"
                " )[a-z]+){0,2}"
                " {pills}"
            ),
            "(?:i|{who}){has} {took}(?: [a-z]+){0,2} {poison}",
            (
                "(?:i|friend|{who})(?: think i| think)?{has} overdosed(?! on (?:netflix|chocolate|sugar|cute"
                "|news))"
            ),
            "(?:{am}|{who}{is}) overdosing",
        ),
    ),
    "attacked": (
        (
            "knife gun shot stabbed attacked strangled raped strangling stabbing shooting kill breaking"
            " break shooter"
            " gunman"
        ),
        (
            (
                "(?:ive|i have|i was just|i got|{who} (?:has|was just|got)) (?:just )?(?:been )?(?:shot"
                "|stabbed|raped)"
                "(?! (?:in the back by|down|at|by a (?:photographer|camera)))"
            ),
            "(?:im|i am|{who}{is}) being (?:attacked|strangled|stabbed|beaten)",
            (
                "{who}(?:s| is) (?:strangling|stabbing|shooting at|trying to kill|going to kill) "
                "(?:me|us|him|her|my [a-z]+)"
            ),
            (
                "(?:someone|somebody|{who})(?:s| is)? (?:is )?(?:breaking|trying to break) into (?:my|our) "
                "(?:house|home|flat|apartment|room)"
            ),
            (
                "(?:someone|somebody|man|guy|stranger)(?:s| is)? (?:in|inside|outside|at) (?:my|our) [a-z]+"
                " with a (?:knife|gun)"
            ),
            (
                "(?:there is|theres) (?:a|someone|somebody)(?: [a-z]+)? with a (?:knife|gun) (?:in|inside"
                "|outside|at|here)"
            ),
            "(?:active shooter|gunman|shooter) (?:in|at|outside) (?:my|our|the)",
        ),
    ),
    "fire": (
        "fire trapped gas monoxide electrocuted",
        (
            (
                "(?:my|our|the) (?:house|home|flat|apartment|kitchen|bedroom|roof|building|car|hair|clothes)"
                "(?: is|s| are| has| just)? (?:on|caught) fire"
            ),
            (
                "(?:im|i am|we are|were|{who}{is}) trapped (?:in|under|inside) (?:a|the|my|our) "
                "(?:fire|car|rubble|burning|elevator shaft|water|avalanche)"
            ),
            "(?:i|{who}){has}(?: got| been| was)? electrocuted",
            "carbon monoxide (?:alarm|detector) (?:is|went|keeps|just) (?:going|beeping|off|went)",
        ),
    ),
    "allergy": (
        "anaphylaxis anaphylactic throat tongue airway attack arrest overdose choking seizure stroke",
        (
            "my (?:throat|tongue|airway)(?: is|s) (?:closing|swelling|swollen shut|closed)",
            "(?:{am}|{who}{is}) (?:having|in|going into) anaphyla(?:xis|ctic)",
            (
                "(?:anaphylaxis|anaphylactic shock|choking|{grave})(?: help)?"
                " (?:what (?:to do|do i do|should i do|can i do)|help(?: me)?) (?:right )?(?:now|quick"
                "|quickly|fast|asap)"
            ),
        ),
    ),
    "bitten or born": (
        "bitten coming birth",
        (
            (
                "(?:i|{who}){has}(?: was| got| been| just got)? bitten by (?:a|an|some)(?: [a-z]+)? ?"
                "(?:snake|rattlesnake|cobra|viper|adder|copperhead|scorpion|black widow)"
            ),
            "baby(?:s| is) coming (?:now|right now|out)",
            "{who}(?:s| is) giving birth (?:now|right now|here|in the)",
        ),
    ),
    **CALLS,
}
"""Family → its telling words, its patterns."""
