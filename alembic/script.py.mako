"""${message}

Revision ${up_revision}, after ${down_revision}, written ${create_date}.
"""

from alembic import op

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forward; raw SQL, and safe on a database that is being used."""
    op.execute("")


def downgrade() -> None:
    """Back."""
    op.execute("")
