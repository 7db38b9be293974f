"""Short clear requests whose pronoun, or whose asker, looks like nothing: a fourth look at clarity.

What stands for something told behind it, words meant as words, a text behind a colon, questions about the
asker. REVIEWED are a reviewer's, FAMILIES were written before the rules that read them, and looked at once.
"""

REVIEWED = tuple(
    """\
What is it called when a word sounds like what it means?
What do you call it when you can't sleep?
What's it called when you're always tired?
What's it like living in Oslo?
How do they make cheese?
Can you explain how it works when a plane flies?
What does this mean: carpe diem
What is this error: ENOENT
Say it in French: good morning
Who are they, the Beatles?
What is the difference between that and which?
Do you remember me?
Do you know who I am?
How am I doing?
Am I getting better?
Wer bin ich?
""".splitlines()
)

FAMILIES = tuple(
    """\
What do you call someone who can't stop talking?
What's it called when the sky turns orange?
How do you say it when someone sneezes in German?
Is it normal for a cat to sleep all day?
What is it about jazz that people love?
What was it like to work at Xerox in the seventies?
Why is it that some people never dream?
How does it feel to run a marathon?
What does it take to become a judge?
How long does it take to knit a scarf?
How much does it cost to rent a van?
What happens when you mix bleach and vinegar?
Why do we yawn?
How do they build bridges over deep water?
Why do they play anthems before matches?
How do they know how old a star is?
Where do they film The Archers?
What do they eat in Peru at Christmas?
How do you make paper?
Who was it that wrote Candide?
When is it too late to plant tomatoes?
Is it rude to tip in Japan?
Is it true that bats are blind?
Does it snow in Athens?
Can you tell me how it works when a vaccine is approved?
Can you explain what happens when a star dies?
What does this mean: memento mori
What does this word mean: petrichor
What is this called in English: Schadenfreude
What is this in Roman numerals: 1984
What does this error mean - EADDRINUSE
Say this in Spanish: see you tomorrow
Put this in French - where is the station
Read this: 0x1F
Who said this: "I think, therefore I am"
Spell it out: NATO
Rhyme this: orange
Is this right: I should of gone
Which is correct: affect or effect here?
Which is correct, who or whom?
What is the difference between this and these?
difference between it's and its
When do I use then and when than?
What part of speech is because?
What's the plural of this word: ox
Is "which" a pronoun?
How do you pronounce thing?
What is another word for good?
Who are they, the Rolling Stones?
What is it, a fruit or a vegetable, the tomato?
What is that, a bitcoin wallet?
Is he still alive, Paul McCartney?
Where is it, Timbuktu?
Do you remember my name?
Do you remember what we talked about?
Do you know me?
Do you know my birthday?
What do you remember about me?
What do you know about my family?
What have I told you so far?
Am I a morning person?
Am I sleeping enough?
How was I last week?
How have I been lately?
How have I been feeling?
What do I like?
What do I want?
What should I remember?
Where do I live?
Who am I to you?
Have we met before?
Have we talked before?
Did I tell you about it already, the job offer?
What makes me happy?
Am I happier than last year?
Have I changed?
What am I like?
Did I forget anything?
What was I thinking about yesterday?
What did we do in March?
When did I last feel good?
Why am I always tired?
Erinnerst du dich an mich?
Kennst du mich?
Weißt du, wie ich heiße?
Wie geht es mir?
Was weißt du über mich?
Wie nennt man es, wenn man nicht schlafen kann?
Was bedeutet das: carpe noctem
Wie macht man Käse?
Wie ist es, in Wien zu leben?
Was ist der Unterschied zwischen das und dass?
Sag das auf Englisch: guten Appetit
Te souviens-tu de moi ?
Qui suis-je ?
Tu sais qui je suis ?
Comment ça s'appelle quand on a peur de l'eau ?
Comment est-ce de vivre à Lyon ?
Qu'est-ce que ça veut dire : dura lex
Quelle est la différence entre ce et se ?
¿Te acuerdas de mí?
¿Quién soy?
¿Sabes quién soy yo?
¿Cómo se llama cuando no puedes dormir?
¿Qué significa esto: veni vidi vici?
¿Cómo es vivir en Bogotá?
¿Cómo se hace el queso?
Dilo en inglés: buenas noches
do u know my dog
wats it called wen u cant smell
hows it feel to be in love
whats it like being a nurse
why is it called a hamburger
how come it rains more in spring
tell me what it means to be stoic
tell me what a CPU does
explain how a fridge works
show me how to fold a shirt
how does one apply for a visa
Please state the current exchange rate of the pound.
Would you kindly list the public holidays in Austria?
Might I ask how one addresses a bishop?
I wish to know the boiling point of ethanol.
grep recursive
chmod 644
What does this do: rm -rf build/
what does this regex match: ^a+$
what does -p do in mkdir
is it O(n) to append to a Python list?
Kernel panic - not syncing: VFS
how do I exit it, vim I mean
count the letters: strawberry
yo whats good for a sore throat
can i eat it if milk is one day over
does it matter if I skip breakfast
should I call my mother?
I miss my dad
I finally slept well
what's for dinner?
what's on my list?
what did she say, my doctor, about iron?
which of my friends live in Graz?
who came to my party?
is there anything about taxes in my notes?
how often do I mention work?
Lisbon or Porto in May?
coffee or tea before bed?
who's taller, Messi or Maradona?
one tip for better sleep
three words for sad
five things to do in Ghent
what to wear to a funeral
where to park in Salzburg
""".splitlines()
)
