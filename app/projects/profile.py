"""What each project shows the model: an entry of PROFILES, all of them rendered by the same engine.

Names are told apart by case, as the seeds' `project = 'THN'` does in SQL: `thn` is another project. Nothing
here raises. Source: seeds 000-002, CONTRACT §4; docs/decisions/0043.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from app.domain.project import CONVERSATIONS, DREAMS
from app.projects import daas, general, thn
from app.projects.section import Section

THN, DAAS = "THN", "DAAS"


@dataclass(frozen=True, slots=True)
class Profile:
    """What a project shows."""

    name: str
    sections: tuple[Section, ...] = (general.talk(), general.code())
    """In the order shown."""
    dreams: bool = False
    """Its rows of conversation_index are dreams."""
    silent: bool = False
    """Where the database fails there is no note of it either (seed 001)."""

    @property
    def sources(self) -> tuple[str, ...]:
        """What it searches, in the order shown."""
        return tuple(dict.fromkeys(section.source for section in self.sections))


PROFILES: Mapping[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile(THN, thn.SECTIONS, silent=True),
        Profile(DAAS, daas.SECTIONS, dreams=True),
        Profile("IBID", (general.code(8), general.talk(5))),
    )
}
"""By name. A project that needs no more than its knowledge, conversations and code needs no entry."""
DREAMING = tuple(name for name, profile in PROFILES.items() if profile.dreams)
"""Projects that keep dreams."""


def profile_of(name: str) -> Profile:
    """A project's; of one without an entry the general one."""
    return PROFILES.get(name) or Profile(name)


def default_of(profile: Profile) -> Profile:
    """What is shown where a project's own way fails unexpectedly: what it keeps as conversations, by words
    and meaning (seeds 000 and 001, Integration)."""
    return Profile(profile.name, (general.talk(source=DREAMS if profile.dreams else CONVERSATIONS),))
