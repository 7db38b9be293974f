"""The families of tests/vantage/families.py again, twice, each written against the rules of the look before.

MISSED are asked back still: two verbs that only a grammar tells apart, and a word that is pointed at.
"""

SECOND = tuple(
    """\
What do people call it if you owe the bank money?
Do they have a name for it when the tide is lowest?
What is it called when a company buys another?
How do you describe it when food is too salty?
Is it called soccer or football in Canada?
Why is it named Oktoberfest?
What is it like being a twin?
What's it like to fly a helicopter?
What does it feel like to be old?
Is it like riding a horse?
What would it take to end hunger?
Why is it that bread goes stale?
When was it that Rome fell?
What is it about cats that the internet loves?
Who is it that paints on walls in Bristol?
How does it work when two people share a mortgage?
What happens to it when water freezes?
How do they choose a pope?
How do they dye wool?
Where do they grow saffron?
Why do they whitewash houses in Greece?
How do they tell how deep the sea is?
How do they get ships into bottles?
Why don't they teach taxes at school?
What does that mean: caveat emptor
What's this: an isosceles triangle
Explain this to me: opportunity cost
Is this spelt right: neccessary
Is this sentence correct: me and him is here
Is this grammatical: who did you gave it
Can you pronounce this - Llanfair
What is this tune - da da da dum
Say that in Italian: thank you
Turn this into a question: he is here
How do you say this in Dutch: good night
What's this in miles: 42 km
Finish this: to be or not to be
Put it more politely: shut up
What is he, a doctor, Albert Schweitzer?
What is she famous for, Frida Kahlo?
Where are they from, the Bee Gees?
Is it far from here, the airport?
When does it open, the Louvre?
How old is he, the Pope?
How big is it, Lake Constance?
Are they poisonous, those red berries with black dots?
difference between in and on
difference between who and whom
difference between may and might
What's the difference between its and it's?
Is it lay or lie?
Should I write than or then?
Do I say who or whom?
When should I use an?
Is there another word for nice?
What's the opposite of always?
What rhymes with thing?
Is because a conjunction?
Is that a pronoun or a conjunction?
How many syllables has something?
Who do you think I am?
Do you still remember who I am?
Do you remember anything about me?
Do you remember us?
Do you recognise me?
Can you remember my name?
What's my name again?
What is my name
Do you know what I like?
Do you know how I feel?
Do you know how old I am?
Do you know where I live?
What do you think of me?
How well do you know me?
Tell me about myself
Tell me about me
Tell me what you know about me
Who am I talking to?
Who am I, really?
Why am I like this?
Why do I do this to myself?
What kind of person am I?
Am I normal?
Am I okay?
Am I doing well?
Am I doing better than last month?
Am I improving?
How am I these days?
How am I feeling lately?
How have I changed?
What are my problems?
What is my problem with Monday mornings?
What are my plans?
What are my options for the weekend?
What do I usually do on Sundays?
What do I need to do today?
What did I do yesterday?
What do I care about?
What am I good at?
What am I bad at?
What am I afraid of?
Where am I?
Where was I last summer?
Where did I go?
When did we meet?
How long have we known each other?
How long have I been here?
Weißt du noch, wer ich bin?
Wie heiße ich?
Was mag ich?
Wie ging es mir letzte Woche?
Werde ich besser?
Wie alt bin ich?
Was habe ich gesagt?
Wie sagt man danke auf Finnisch?
Was heißt das: nolens volens
Wie nennt man das, wenn der Mond rot ist?
Wie machen die das Eis so cremig?
Was macht man bei Fieber?
Unterschied zwischen als und wie
Wer sind sie, die Wiener Sängerknaben?
Wie ist das, Zwillinge zu haben?
Comment je m'appelle ?
Comment vais-je ?
Tu te souviens de moi ?
Quel âge ai-je ?
Qu'est-ce que j'aime ?
Comment dit-on merci en grec ?
Comment fait-on du pain ?
Qui est-ce, Jean Moulin ?
Ça veut dire quoi : carpe diem
Dis bonjour en russe
Différence entre qui et que
C'est comment de vivre seul ?
¿Cómo me llamo?
¿Cómo estoy?
¿Me conoces?
¿Qué me gusta?
¿Cuántos años tengo?
¿Qué significa: quid pro quo?
¿Cómo se dice gracias en ruso?
¿Cómo se hace el pan?
¿Quiénes son, los Beatles?
¿Cuál es la diferencia entre por y para?
¿Qué tiempo hace?
Dime la hora
Dis-moi l'heure
Sag mal was Nettes
update pandas to 2.0
update my phone number to 555 0199
change the oil in a Golf
what time does it get dark in Rome
what time does it get light
how can i tell if milk is off
i was wondering if whales sleep
I'd like to know if tea has caffeine.
Please tell me whether bats can see.
""".splitlines()
)

THIRD = tuple(
    """\
what's a good gift for a ten year old
hey can you find my notes on the Berlin trip
Is oat milk good for you?
how do you get rid of moths
why is it so hard to wake up in winter
is it just me or is coffee getting pricier
How is it that birds don't get lost?
does it make sense to rent out my flat
who gets to decide the fate of a jury
what's it called if two rivers meet
what do you call a group of owls
how do they put the lead in pencils
Why do they change the clocks?
What do they teach at Eton?
Explain it like I'm five: inflation
What does this say: Πάντα ῥεῖ
What language is this: dziękuję bardzo
Make this polite: send me the files
Fill in the blank: the cat ___ on the mat
Who was she, Ada Lovelace?
Is it real, the Loch Ness monster?
effect or affect?
is it "fewer" or "less" people
Is there a word for fear of heights?
How do you spell your?
how do I use semicolons
what am I allergic to?
am I eating enough?
Have I been sleeping well?
do you know when I was born?
do you remember my sister's name
who is my best friend?
what makes me angry?
what's my mood today
How did I do this month?
tell me something about me that I don't know
what did I promise Tom
Do you ever forget me?
How do you see me?
What do I do for a living?
What do I do when I'm stressed?
Have I told you about my mother?
How's my week looking?
What is on my mind lately?
Kannst du dich an mich erinnern?
Was mache ich gern?
Wo wohne ich?
Wer ist meine Schwester?
Bin ich glücklich?
Was ist das für ein Vogel: schwarz mit gelbem Schnabel
Was heißt Danke auf Türkisch?
Je suis comment ?
Où est-ce que j'habite ?
C'est quoi, un algorithme ?
Qu'est-ce qui me rend heureux ?
¿Dónde vivo?
¿Qué sabes de mí?
¿Qué es esto: un ornitorrinco?
¿Cómo se dice perro en alemán?
set a reminder for my pills at 9
""".splitlines()
)

MISSED = frozenset(("Is it lay or lie?", "Is that a pronoun or a conjunction?"))
