"""The terms of each passage beside its text and vector, and the tokens of what is shown of a project's row.

One statement then loads the index of a scope. Rows that have no terms yet, or those of an older analysis, are
analysed when their scope is first loaded, and kept.
"""

from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

TABLES = ("ibid.chunk", "ibid.memory", "ibid.corpus_text")


def upgrade() -> None:
    """Add them; no table is rewritten."""
    for table in TABLES:
        op.execute(f"ALTER TABLE {table} ADD COLUMN terms bytea")
        op.execute(f"ALTER TABLE {table} ALTER COLUMN terms SET STORAGE EXTERNAL")
    op.execute("ALTER TABLE ibid.project_words ADD COLUMN tokens integer")


def downgrade() -> None:
    """Drop them."""
    for table in TABLES:
        op.execute(f"ALTER TABLE {table} DROP COLUMN terms")
    op.execute("ALTER TABLE ibid.project_words DROP COLUMN tokens")
