"""Which classes of words make a harm when one clause holds them all: the policy of risk, third part.

As app/vantage/company.py: hatred, falsehood, prying and torment. Most of it negotiates and refuses nothing
by itself.
Class names: acts, objects, matters, marks, hints, targets, frames.
"""

from app.vantage.harm import Harm

BONDS = (
    Harm(
        "group-ranked",
        "hate",
        0.65,
        groups=("which_group", "demean d_violence d_terror extremist"),
        know=1,
        told=1,
        made=1,
    ),
    Harm(
        "persuade-untrue",
        "misinformation",
        0.55,
        groups=("persuade believing", "untrue debunked", "person relation public how want make_me"),
        unless="guard",
        made=1,
        know=0.3,
    ),
    Harm(
        "puppets",
        "misinformation",
        0.6,
        groups=("puppets", "make_me how_i want"),
        made=1,
        know=0.3,
        unless="guard",
    ),
    Harm(
        "untruth",
        "misinformation",
        0.6,
        groups=("untruth", "make_me", "message text images"),
        made=1,
        unless="tale",
    ),
    Harm(
        "facial",
        "privacy",
        0.6,
        groups=("facial", "person relation name others", "how want make_me know looking"),
        made=1,
        know=0.8,
        unless="guard tale world",
    ),
    Harm(
        "whether",
        "privacy",
        0.55,
        groups=("whether", "outsider", "trait private disease_had"),
        know=1,
        told=1,
        made=1,
        unless="guard talking",
    ),
    Harm(
        "torment",
        "harassment",
        0.6,
        groups=("torment", "relation person minor name", "make make_me", "how want make_me"),
        made=0.9,
        know=0.2,
        unless="guard tale safe_mood",
    ),
    Harm("caging", "harassment", 0.55, groups=("caging", "mate", "how_i want"), know=0.2, unless="birth"),
    Harm(
        "pester",
        "harassment",
        0.55,
        groups=("pester", "relation person name", "how_i want make_me"),
        unless="guard",
    ),
    Harm(
        "by-group",
        "hate",
        0.6,
        groups=("criterion", "selecting", "rights", "how_i want make_me make"),
        know=0.2,
        made=1,
        unless="guard fair",
    ),
    Harm(
        "only-group",
        "hate",
        0.6,
        groups=("only_them", "group others rights premises", "how_i want make_me"),
        know=0.4,
        made=1,
    ),
    Harm("compare-groups", "hate", 0.6, groups=("ranking", "races", "worth"), know=1, told=1, made=1),
    Harm(
        "dossier-on",
        "privacy",
        0.55,
        groups=("dossier_on", "relation name others", "looking make_me how_i want make"),
        made=1,
        unless="tale guard",
    ),
    Harm("group-slight", "hate", 0.6, groups=("group", "slight"), know=1, told=0.8, made=1, unless="fair"),
    Harm(
        "underpay-group",
        "hate",
        0.7,
        groups=("group", "underpaying", "wage", "how_i want make_me"),
        unless="fair equal",
        made=1,
        know=0.2,
    ),
    Harm("reverse", "privacy", 0.55, groups=("reverse",), know=0.9, told=0.9, unless="guard"),
    Harm(
        "against-group",
        "hate",
        0.65,
        groups=("opposed", "group", "make_me"),
        made=1,
        unless="d_hate d_bully d_rape d_violence illwill equal fair",
    ),
)
"""What a clause's classes make together."""
