"""Indexes that have all that the counts of projects need: a row with its vector takes kilobytes."""

from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

TABLES = ("conversation_index", "code_index")


def upgrade() -> None:
    """Other tools' names may exceed a B-tree's page."""
    for table in TABLES:
        op.execute(
            f"CREATE INDEX IF NOT EXISTS {table}_projects ON public.{table} (project, owner, tenant)"
            " WHERE length(project) <= 200"
        )


def downgrade() -> None:
    """Drop them."""
    for table in TABLES:
        op.execute(f"DROP INDEX IF EXISTS public.{table}_projects")
