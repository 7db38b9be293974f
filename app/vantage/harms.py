"""The rules of harm together: their categories, what acts do to objects, what words make in company.

Readable as a policy document in app/vantage/harm.py, pairs.py, couples.py, company.py, bonds.py and
circles.py. Nothing here raises.
"""

from app.vantage.bonds import BONDS
from app.vantage.circles import CIRCLES
from app.vantage.company import COMPANY
from app.vantage.couples import COUPLES
from app.vantage.harm import RISKS, Harm
from app.vantage.pairs import FIRST

__all__ = ["CLAUSES", "PAIRS", "RISKS", "Harm"]

PAIRS = FIRST + COUPLES
"""What an act does to the object it takes."""

CLAUSES = COMPANY + BONDS + CIRCLES
"""What classes of words make together."""
