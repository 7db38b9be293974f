"""Short messages as they come to mind, one a line: a third look at clarity, with what is still told wrongly.

Written after the rules were tuned on tests/vantage/requests.py, before a look. Clear is what somebody could
answer or act on without asking back, or what is merely company.
"""

DOUBTFUL = frozenset(
    (
        "what's the translation?",
        "when is the deadline?",
        "is there a discount?",
        "I have an idea",
        "you said you would",
        "hot or cold?",
        "lorem",
        "the cheapest most expensive one",
        "idk",
    )
)
"""Of these, what the rules take for the other: a noun with `the` may stand in a document, and who writes of
an idea asks nothing; the last is meant as company."""

VAGUE = tuple(
    """\
Can you do that?
Make it better
Which do you prefer?
fix the thing
Where did I put it?
Can you change the color?
Is it ready?
I don't understand
explain that again
what should I do about it?
do you remember that one?
The second option
Let's do it
Please update it
What's the best option?
give me more
I need something
tell me about them
what does this mean
Could you expand on that?
how do I fix this error?
it's not working anymore
Can you redo it in a different style?
who did it
when was that
where is that
where
what
huh?
eh
Can you summarize it for me?
Give me the summary
compare them
compare these two
Which one's cheaper?
should I buy it or not
is it worth it?
are they the same?
how do they differ
same thing but smaller
one more
the other one please
can we reschedule?
move it to next week
book it
order some
call him
email her
text them that I'm late
reply to that
delete it
cancel it
turn it off
set it up
can you make one for me
I want one
Write something
make a list
create a plan
draw something
pick one
translate
translate please
translate it to Spanish
what's the translation?
calculate
calculate the total
how many
how much
how long
how far is it
how old is she
what's his name
what's their address
when is the deadline?
is there a discount?
what's the code?
I have an idea
I have a problem with my thing
my problem is back
same problem
still not working
still broken
doesn't help
that didn't help
no, the other way
not this, that
as before
like we discussed
you said you would
finish it
finish what you started
keep going
proceed
start over
start
stop it
go
ready?
so?
well?
and?
but why
why not
how come
what if
what if not
for how long?
with whom?
to where?
by when?
How would you do it?
any ideas?
ideas?
advice please
need advice
need help asap
urgent!!!
SOS
info
information please
details
more info
send details
tell me everything
tell me
show
show more
options
list
list them all
what are the steps?
What are the benefits?
pros and cons?
is it good or bad?
good or bad?
hot or cold?
yes or no?
left or right?
which color?
what size?
what time?
which day?
what kind?
what type
what for
for what?
who with
x
?
!!
hhhhhh
asdf asdf
qwe asd zxc
fghjfghj
blah blah blah
lorem
12345
😀😀😀
Tom
Mr. Brown
Sarah Johnson
Make it formal and informal at the same time
I want it hot and cold at the same time
Give me a detailed one-word answer in 500 words
Write nothing but write a lot
shorter and longer please
the cheapest most expensive one
qué hago
qué significa
dónde está
ayuda
¿puedes arreglarlo?
explícame eso
et ça ?
pourquoi pas ?
aide-moi
tu peux le refaire ?
lequel est mieux ?
wo ist es
mach es besser
und jetzt?
welches ist besser?
kannst du mir helfen
was meinst du damit
übersetze das
これは？
それで？
为什么？
帮我
это что
почему?
cos'è?
puoi farlo?
o que é isso?
wat bedoel je?
""".splitlines()
)

CLEAR = tuple(
    """\
how do airplanes fly
best pizza dough recipe
tesla stock price
how tall is Everest
how old is the universe?
who is the president of France
when did WW2 end
where is Machu Picchu
directions to the nearest pharmacy
meaning of life
what is the meaning of serendipity
news
weather
breaking news today
define photosynthesis
synonyms for happy
antonym of big
how to tie a tie
how to lose weight
how to sleep better
how to get better at chess
how to be a better friend
how to change a tire
how to ask for a raise
how to give feedback
how to say no
how to write well
how to stop procrastinating
how to start a business
how to make friends
how to fix a leaking tap
why do cats purr
why am I so tired
why does my back hurt
can dogs eat grapes?
can I bring liquids on a plane
should I learn Python or JavaScript
is 17 prime
is water wet?
is there life on Mars?
are tomatoes fruits
does coffee dehydrate you
do fish sleep
what causes rain
what's the tallest building in the world?
what do bees eat
what does CPU mean
what does it mean to be free?
what is it like to live in Japan?
what is AI
what's the difference between a crocodile and an alligator
which is heavier, gold or lead?
what's better for sleep: tea or milk?
tell me about the Roman Empire
tell me a story
sing me a song
surprise me
I'm bored
I'm hungry
I'm sad
I feel lost
I can't sleep
I hate Mondays
I love you
you are great
you're wrong about that date
it's raining
it's my birthday!
my mom is visiting tomorrow
we won the match!
happy birthday
merry christmas
good luck
sorry
my bad
oops
ok
cool
nice!
lol that's funny
test
hello world in java
javascript map filter reduce
fizzbuzz
sql join types
docker vs podman
vim exit
git rebase
regex email
css center div
pip install fails with error 1
ImportError: cannot import name foo
404 nginx
E: Unable to locate package
for i in range(10): print(i)
x = 5; y = x * 2
2^10
10 usd to eur
5 miles in km
time in Tokyo
flights to Rome
restaurants near me
hotel Vienna
jobs berlin
train times london leeds
set alarm 7am
set a timer for ten minutes
remind me to water the plants
remind me about the dentist tomorrow at 9
add milk to my shopping list
play Bohemian Rhapsody
call Anna
text mom I'm late
send an email to Bob saying I'm late
book a flight to Paris on Monday
order a large pepperoni pizza
schedule a meeting with Tom on Friday
translate hello to French
translate "how are you" into German
write an essay about climate change
write a function that reverses a string
write a short poem
summarise my notes on sleep
summarize the plot of Hamlet
explain quantum entanglement simply
explain recursion
compare iPhone and Pixel
recommend a good sci-fi movie
give me five baby names
list the planets
draw a cat
make a grocery list for the week
create a workout plan
plan a trip to Japan
fix this sentence: me and him goes home
proofread: I has a dog
debug this: print("a"
check if 91 is prime
convert 10 kg to lb
calculate 15% tip on 80
solve 2x + 3 = 7
when is Easter 2026
what day was 1 Jan 2000
how many days until Christmas
when's my dentist appointment?
where did I park?
what did I eat yesterday?
what have I told you about my boss?
who did I meet in Berlin?
what's my favourite colour?
do I like mushrooms?
find my notes about Anna
what's in my diary for Monday
how did I feel last week
was I happy in March?
Anna's birthday
my dog's name
the recipe from grandma
meeting notes 12 March
The report is due on Friday. Can you draft it from my notes on bees?
I tried the new recipe but it was too salty. What can I do about it next time?
My boss yelled at me. Should I tell him how I feel?
Here is my text: The cat sat. Make it better.
I have two job offers, one in Oslo and one in Rome. Which is better?
My phone screen is cracked, how much does it cost to repair?
The sky is blue, but why is it blue?
Peter and Paul quarrel. Who is right?
Albert Einstein
Marie Curie
Taylor Swift
Paris
Berlin
Amazon
bitcoin
yoga
quiche
Entropie
Was ist Photosynthese?
Wie spät ist es?
Wie alt ist die Erde?
Wie heißt du?
Wer bist du?
Was kannst du?
was kostet ein BMW
Wetter Berlin
erzähl mir einen Witz
danke schön
guten Morgen
comment ça va ?
qui es-tu ?
quelle heure est-il ?
merci beaucoup
raconte-moi une blague
¿qué hora es?
¿quién eres?
¿cómo estás?
gracias
cuéntame un chiste
che ore sono?
grazie
que horas são?
как дела?
спасибо
который час?
你好
今天天气怎么样
几点了
谢谢
ありがとう
今何時ですか
안녕하세요
merhaba
teşekkürler
dziękuję
hva er klokka?
hoe laat is het?
Xhosa clicks
rhythm
Czech verbs
pszczoła
crwth
brb
omg
idk
wtf is inflation
""".splitlines()
)
