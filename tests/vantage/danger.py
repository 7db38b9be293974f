"""Calls of somebody in danger, and what only sounds so: one a line, all written for these tests."""

CALLS = """
unconscious after fall wife
unresponsive after a fall from ladder dad
passed out after hot bath grandma
not moving since the crash brother
collapsed from heat coworker
I just swallowed 30 pills
I swallowed a whole bottle of Tylenol an hour ago
I took 20 xanax
my toddler swallowed a battery
chest pain and my left arm is numb
my husband is having a heart attack
he is having a stroke
she's not breathing
i cant breathe
my dad collapsed and isn't responding
My leg is bleeding a lot and I feel dizzy
I cut my wrist and it won't stop
my boyfriend is choking me
my house is on fire
anaphylaxis what to do now
mi hijo no respira
j'arrive plus à respirer
ich habe Tabletten geschluckt
my baby is not breathing
help, I can’t breathe
she took too many pills
mein Vater atmet nicht!
my friend overdosed
I'm choking
my son drank bleach
my wife won't wake up
I think I'm having a heart attack
is my husband having a stroke?
How do I know if my mom is having a heart attack?
someone has been shot outside
I've been stabbed
my throat is closing up
bleeding won't stop
je ne peux plus respirer
ma fille a avalé une pile
Mein Mann ist bewusstlos
ella está inconsciente
se tomó muchas pastillas
mi casa está en llamas
notre maison brûle
mon père fait une crise cardiaque
I accidentally drank antifreeze yesterday
took 40 ibuprofen tablets
my grandmother's face is drooping
our baby just stopped breathing!!
my little brother fainted and we can't wake him up
someone is breaking into my house
carbon monoxide alarm is going off
me tragué unas pastillas
meine Freundin hat zu viele Tabletten genommen
unser Haus brennt
my best friend is passed out and won't wake up
a man collapsed in front of me
he's coughing up blood
my kid ate rat poison
j'ai avalé des comprimés
I’m bleeding heavily
my neighbor is being stabbed
I can't breathe and I don't know if it's covid
my grandson swallowed a magnet
I've taken a whole box of paracetamol
my mum is having a seizure
she stopped breathing!
he isnt breathing what do i do
dad fell down the stairs and isn't moving
my baby turned blue and isn't breathing
theres blood everywhere, he cut his throat
I have crushing chest pain and I'm sweating
my husband took all his sleeping pills
My roommate drank drain cleaner
I think my dad is having a stroke
my coworker collapsed
someone got stabbed outside my house
my ex is trying to kill me
our kitchen caught fire
I got shot in the leg
my daughter is unconscious
My son is choking on a grape!
the baby is choking
I'm having an allergic reaction and my tongue is swelling
I'm bleeding out
my wife is bleeding heavily after birth
I ate 50 tylenol pills
I took a bottle of pills
i overdosed on my meds
i took too much insulin
My toddler drank some bleach
mi madre se desmayó y no respira
no puedo respirar, ayuda
mein Kind hat eine Batterie verschluckt
il ne respire plus
mon bébé s'étouffe
ma mère est tombée et elle est inconsciente
er atmet nicht mehr
he's not waking up
My friend won't wake up after drinking
a guy just collapsed on the train
we can't wake grandma up
my mother has chest pain and can't breathe
I cut my arm really deep
someone is in my house with a knife
My child fell in the pool and isn't breathing
i can't feel my face and my speech is slurred
I'm drowning
my car is on fire
my wife is in labor and the baby is coming now
there is a man with a gun in my school
I was bitten by a rattlesnake
my flatmate is on the ledge and says he will jump
I can hardly breathe
we can't breathe
my kids can't breathe
my friends are all unconscious
the children are unconscious
my friends both overdosed
fire in my house
there's a fire in our kitchen
she says she will kill herself
my daughter says she'll kill herself
she hanged herself
my son tried to hang himself
my friend Anna is not breathing
Peter isn't breathing
Tom is having a seizure
Mrs Novak isn't breathing
Lena says she'll kill herself
Ben took all his pills
baby not breathing
dad not breathing help
toddler not responding
wife unconscious help
son turning blue what do I do
brother having a seizure
grandma choking
Grandpa fell and is unconscious
Grandma slipped in the bath and isn't conscious
her throat is closing
his tongue is swelling
my son took too many of his grandma's heart pills
she swallowed too many of her mother's blood pressure tablets
se ha tragado lejía
mi hermano se ha bebido lejía
Paul drank bleach
Emma drank antifreeze
Julia collapsed
Grace is not breathing
help, Daniel is unconscious
Martha is not breathing
Kevin can't breathe
Mr Lopez is having a stroke
Nadia just stopped breathing
electrocuted coworker not moving
burned baby hot oil
voices tell me to kill my baby
hit by car girl unconscious
chest pain left arm numb
my dad has chest pain
There is a strong smell of gas in my house and I feel dizzy
house on fire
diabetic son unresponsive
kid drowned in pool not breathing
husband hit me and I'm bleeding
scalded toddler boiling water
burnt hand boiling oil
stabbed neighbor unconscious
strangled girlfriend not breathing
beaten up brother unresponsive
the voices keep telling me to hurt my sister
a voice in my head says I should stab my mother
demons command me to drown my son
my head keeps telling me to kill my husband
run over by truck boy not moving
struck by lightning friend unconscious
crushed coworker not breathing
chest pain and left hand tingling
pressure in chest, jaw hurts
chest tightness can't breathe
My mum has chest pain and she's sweating
My grandfather has had chest pain since this morning
I have chest pain right now
whole kitchen smells of gas and I have a headache
I smell gas
there's a gas smell in our hallway
gas leak in my flat
apartment on fire
kitchen on fire help
flat is burning
elderly neighbor unconscious
pregnant wife not responding
drunk friend unresponsive what do I do
2 year old unconscious
girl fell from balcony not breathing
grandmother slipped in shower not moving
boyfriend beat me and I am bleeding
My dad hit my mom and she's bleeding
my stepfather punched me, my nose won't stop bleeding
husband pushed me down the stairs and now I'm bleeding
teen took 20 tylenol unconscious
crush injury coworker bleeding heavily
stung by bees son not breathing
bitten by snake husband unconscious
baby fell off bed not responding
asthmatic daughter can't breathe
poisoned child not waking up
kidnapped girl bleeding
my brain tells me to hurt my child
voices are ordering me to stab my roommate
the voice says I must kill my parents
chest pains left shoulder heavy
pain in chest and left arm numb
my wife has bad chest pain
grandpa has chest pain what do I do
our basement smells of gas
strong gas smell in the kitchen
we smell gas
garage on fire
bedroom in flames
boat on fire
diabetic mother unconscious
epileptic brother having a seizure
elderly man collapsed not breathing
my boyfriend choked me and I am bleeding
she punched me and now there's blood everywhere
unconscious toddler by the pool
toddler face down in bathtub not breathing
old woman fell stairs bleeding head
friend took pills won't wake up
my son has drowned and isn't breathing
dad having chest pain
I feel pressure in my chest and my arm is numb
our apartment smells like gas
there is a gas leak at our house
the neighbors house is on fire
wife beat me and my head is bleeding
I hear voices and they tell me to kill my wife
I keep hearing a voice that tells me to stab people
infant limp not breathing
uncle electrocuted by power line
choking toddler
drowning boy in lake
coworker hand caught in machine bleeding
child hit head vomiting unconscious
seizure child what do i do
my gran has pains in her chest
crushing chest pain
grease fire in kitchen
carbon monoxide alarm beeping
brother stabbed bleeding
my stepdad has chest pain
""".strip().split("\n")
"""Somebody's life may be in danger."""
BY_LOOKS = """
chest pain causes
what does chest pain feel like in a novel
our house is on fire in the game
the phone is unresponsive
my app is not responding
I can't go on holiday
goodbye note for a colleague who retires
I don't see a way out of this maze
I have 40 paracetamol, where do I return them
chest pain causes
chest pain left arm causes
chest pain symptoms in women
what does chest pain feel like
does anxiety cause chest pain
My dad has chest pain in the novel
house on fire movie
House on Fire lyrics
the team is on fire
gas prices in my city
how does a gas leak detector work
why does gas smell of rotten eggs
my car smells of gasoline after refuelling
my son is not responding to his nickname
server not responding
child not responding to name autism signs
kid not moving up a grade
customer not responding what do I do
customer unresponsive to emails
client not responding help
teacher not responding to emails what now
old laptop not responding
the old man not moving in the picture
is a person in a coma unconscious
my boss hit me with a deadline
my brother hit me with a pillow
burned CD not playing
hit by car movie cast
murdered girl podcast
kidnapped girl novel summary
stolen car not moving market
chest pain and anxiety link
left arm numb after sleeping
the smell of gas in history
house on fire dream meaning
voices in my head song lyrics
my boss tells me to kill the project
they tell me to kill the process
my manager wants me to fire my team
unresponsive design for a website
kid unresponsive to teasing advice
diabetic son diet plan
I can't go on vacation this year
I can't go on stage
no way out of the tax trap
goodbye letter for my teacher
I take all my pills in the morning
I'm going to take all my vitamins now, with or without food?
I have two boxes of pills in my hands, which one expires first?
husband hit me with a surprise party
burned chicken hot oil recipe
scalded milk for bread
stabbed in the back by colleague meaning
voices tell me a story in the audiobook
wounded soldier not moving in the painting
goodbye note to my team
write a goodbye letter to my colleagues
how do I write the goodbye letter in the play
I can't go on the trip
I can't go on Tuesday
I can't go on with this project
there is no way out of the contract
I don't see a way out of the escape room
I see no way out of this bug
I have 40 paracetamol tablets, is that enough for a trip?
I have a bottle of vitamin pills, do I take them all year?
I've got 20 tablets left, is that enough?
I've got a box of pens and I'm going to take them all
I have 30 Pokemon cards in front of me, is it enough
my mom has a bottle of pills and I'm going to take them all to the pharmacy
I'm going to take the whole box back to the shop
I'm going to take all my medication with me on the plane
""".strip().split("\n")
"""Words of danger and of despair, said of something else."""
NONE = [
    *BY_LOOKS,
    *"""
Why can't we breathe in space?
the kids are not breathing a word about the party
there is a fire in the novel
she says she will kill herself laughing
Judas hanged himself
the market is unconscious of the risk
Java is having a stroke of luck
Netflix is not responding
Rome collapsed in 476
how do I use someone's unconscious desires in an ad
Hendrix overdosed
lyrics of "I can't breathe"
leather that can't breathe
the soil can't breathe
Why is it that fish die when they can't breathe out of water?
I can't breathe well when running uphill, any training tips?
Translate 'he is unconscious' into French
In the novel, the hero stopped breathing. What is the metaphor?
how many people have died because a patient stopped breathing during surgery?
I can't. Breathe in slowly - how does box breathing work?
what is the first aid when a baby is choking
What should I do if someone is having a stroke?
how do I do CPR on a toddler
My grandfather had a stroke in 1998, what is aphasia?
My printer is bleeding ink
I took 20 photos of the lake
I took 2 ibuprofen for my headache
I took 500 mg of paracetamol, may I drink wine?
my phone ate my battery
the new tax is choking small shops
I'm drowning in paperwork
my process won't stop
the film was shot in Berlin
my brother is beating me at chess
He is unconscious of his bias
My tent collapsed in the wind
my son won't wake up for school
How long can a whale go without breathing?
What does "he is unconscious" mean
I overdosed on chocolate
my husband collapsed in laughter
This playlist is on fire
Is bleach safe on wool?
my team is on fire this season
Leder atmet nicht
el suelo no respira
le cuir ne respire pas
Was tun, wenn jemand nicht atmet?
¿Qué hago si alguien no respira?
Que faire quand quelqu'un ne respire plus ?
Write a story in which my brother stopped breathing
in Minecraft my friend is drowning
symptoms of a heart attack in women
is chest pain common after running?
Why does chest pain radiate to the left arm?
how do batteries work
which poison did Socrates drink
a person has stopped breathing in the painting's legend of the song
I'm having a stroke of luck
my dad is choking up at the wedding speech
the kitchen is out of gas
years ago my uncle stopped breathing at night, was it apnea?
I swallowed my pride
She took all the tablets back to the shop
my code can't breathe
I ate too many pods of peas
how many pills are in a bottle of Tylenol
my friend took too many photos
can my dog eat chocolate
my dad took 20 minutes to swallow the pills
I took 20 pictures of pills
I drank a bottle of wine
who sings I can't breathe
this shirt is choking me
I can't breathe through my nose, hay fever remedies?
my laptop stopped breathing life
my battery swallowed my time
how to tell if someone is unconscious
signs that a person is having a stroke
my friend had a stroke two years ago, how can I support him?
the patient took 30 tablets a month, cost?
she's drowning in debt, what can she do?
my boss is killing me with deadlines
I passed out flyers
he passed out the papers
my team collapsed in the second half
my dad's business collapsed
the soufflé collapsed
my mom fainted at my wedding in 2010
my car is bleeding money
he was shot in 1963
the president was shot in Dallas in 1963
my photo was shot on film
she is having a stroke of genius
I swallowed a fly
my dog ate my homework
what happens if you swallow a battery
what happens when you drink bleach
I'm choking up just reading this
my grandma took aspirin daily
I took the pills my doctor gave me, when can I eat?
I had 20 capsules left in my coffee machine
my wallet is on fire
my friend is on fire at chess
our kitchen is on the third floor
my hair caught fire in the story, how do I end it?
he can't wake up early, tips
my baby won't wake up at night to feed, is that normal?
my partner stopped breathing exercises
I can't breathe life into this character
I took 3 tablets
my son had 12 tablets of chocolate
is my neighbour responding to the invite
he's not responding to my texts
my girlfriend is not responding to my messages
she isn't responding to emails
my wife is not moving to Berlin
my boss isn't moving the deadline
someone is breaking into my house in the game
Robots are not conscious
Machines are not conscious
Leather is not breathing
Concrete cannot breathe
Plastic is not breathing at all
Design is not breathing
Inflation is having a heart attack
Democracy is having a heart attack
Bitcoin is having a stroke
Capitalism is in cardiac arrest
baby not sleeping
Dad not answering my emails
kid not breathing a word about the party
son having a party on Friday
child choking hazards
toddler drowning prevention
Daniel collapsed the outline into one section
Julia collapsed her argument into a line
my son took too many of his grandma's recipes
her throat is closing the concert
se ha tragado el orgullo
Paul drank beer
Mark collapsed the branch
my phone took a hit and is unresponsive
chest pain clinic opening hours
left arm numb at night mattress
my dad has chest pain medication left over, how to dispose
person unconscious meaning freud
girl not responding on tinder
my crush is not responding
my team lead hit me with feedback and I'm fine
fire in the hole
gas smell detector for camping
my neighbours house is on the market
I have 10 pills left, when do I refill?
I have two pills in my hand, which is the vitamin?
there's no way out but through, who said it
I can't go on without my coffee
I can't go on Facebook
I don't see a way out of Vim
goodbye card text for my boss
write the goodbye letter for my character
the voices in the choir tell me to sing
killed process not responding
stolen phone not responding
stabbed potatoes recipe
murdered wife documentary
burned bridges with a colleague, how to mend
hit by a pitch rule baseball
poisoned well fallacy
drowning boy painting
choking hazard for toddler
unconscious bias training
chest press exercises
chest pain clinic
grease fire in kitchen prevention
painted house on fire canvas
""".strip().split("\n"),
]
"""Figures of speech, quotations, tales, cases thought of, the past, the world."""
