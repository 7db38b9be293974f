"""Short requests that nobody could answer, each beside one that everybody could (tests/vantage/families.py).

MISSED are answered still: in doubt a message is clear, and `auf Englisch` alone may name the language wanted.
"""

POINTERS = tuple(
    """\
What time does it open?
I was wondering if
Please update my account
What time does it close?
When do you open?
What time do they start?
I was wondering whether you could
I'd like to ask if
update my profile please
change my settings
What do you call it?
What's it called?
What is it like?
How do they do it?
How do they make them?
Can you explain how it works?
Can you show me how it is done?
What does this mean:
What is this error?
Say it in French
Say it again:
Who are they?
Who is she again?
What is the difference between them?
What is the difference between this and that one?
Do you remember it?
Do you know him?
Do you know who he is?
How is it doing?
Is it getting better?
Wer ist er?
Was bedeutet das?
Wie nennt man das?
Wie macht man das?
Sag das auf Englisch
Qui est-ce ?
Comment ça s'appelle ?
Comment on fait ça ?
Dis-le en anglais
¿Quién es ella?
¿Cómo se llama eso?
¿Cómo se hace?
Dilo otra vez
Can you redo it, please?
is it supposed to do that
why won't it start
when it does that again what do I do
how do I stop it
could you check it for me
move them over there
which of them is it
make one like that
what was that about
put that in there
i want the other one
she said what?
Should I do it or not?
is that all?
what does he want
can we do it like before
they did it again
What time does he arrive?
What time will it end?
what time is it starting
I just wanted to ask whether
I wonder if you could
Could you tell me if
update my settings
please change my profile
What is it called in German?
What did you call it?
What do you call that?
What was it like then?
What's it like there?
How do they do that?
Why do they do this?
How do they work?
How do they differ?
How does it work when I do it?
Can you explain how it works to me?
What is this word?
What's this called?
Is this right:
This:
Can you fix this - please
It's urgent: can you help me?
Question: can you fix it?
What is it, please?
Can you fix it, Tom?
Where is it, Mum?
Is it ok, doctor?
Which is it, the first or the second?
What's the difference between these and those?
What's the difference between it and the other?
difference between x and y
Which do I use?
When do I use it?
Is it this or that?
Do you remember that?
Do you remember him?
Do you know what I mean?
Do you know how I do it?
Do you know why?
Am I doing it right?
Am I doing this wrong?
Am I right?
What do I do?
What do I do now?
What should I do?
How do I do it?
How is she doing?
Is he getting better?
Was will er?
Wie geht das?
Was macht er?
Was soll ich tun?
Comment on fait ?
C'est qui ?
¿Qué hace?
¿Quién es?
""".splitlines()
)

MISSED = frozenset(
    (
        "Sag das auf Englisch",
        "Dis-le en anglais",
        "they did it again",
        "what time is it starting",
    )
)
