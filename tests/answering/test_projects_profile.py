"""Profiles: an entry of data each."""

import pytest

from app.answering.projects import DREAMING, PROFILES, Choice, Profile, default_of, profile_of
from app.types import CODE, CONVERSATIONS, DREAMS


def test_a_profile_is_found_by_its_name() -> None:
    """As it is spelt: upper and lower case differ, as in SQL."""
    assert profile_of("THN").sources == (CONVERSATIONS, CODE)
    assert profile_of("DAAS").sources == (DREAMS,)
    assert profile_of("thn").sources == (CONVERSATIONS, CODE)
    assert profile_of("thn").name == "thn"


def test_an_unknown_project_shows_its_conversations_and_its_code() -> None:
    """By words and meaning."""
    talk, code = profile_of("garden").sections

    assert (talk.source, talk.choice) == (CONVERSATIONS, Choice.FUSED)
    assert (code.source, code.choice) == (CODE, Choice.FUSED)


def test_this_repository_is_a_project_of_one_line() -> None:
    """Its code first, then what was said of it."""
    code, talk = profile_of("IBID").sections

    assert (code.source, code.choice, code.limit) == (CODE, Choice.FUSED, 8)
    assert (talk.source, talk.choice) == (CONVERSATIONS, Choice.FUSED)


def test_only_daas_keeps_dreams() -> None:
    """What the sources are told."""
    assert DREAMING == ("DAAS",)


@pytest.mark.parametrize(("name", "source"), [("THN", CONVERSATIONS), ("DAAS", DREAMS)])
def test_the_default_is_a_project_s_own_conversations(name: str, source: str) -> None:
    """By words and meaning; those of a project that keeps dreams are dreams."""
    [section] = default_of(profile_of(name)).sections

    assert (section.source, section.choice) == (source, Choice.FUSED)


@pytest.mark.parametrize("profile", [*PROFILES.values(), Profile("other")], ids=lambda profile: profile.name)
def test_every_profile_is_whole(profile: Profile) -> None:
    """Each section has a heading, lines to write, and a note that counts; no two look alike."""
    for section in profile.sections:
        assert section.heading.startswith("### ")
        assert section.form
        assert "3" in section.note.format(count=3)
        assert section.limit >= 1
    assert len({section.heading for section in profile.sections}) == len(profile.sections)
    assert len(set(profile.sources)) == len(profile.sections)
