"""How far the reading of a document is: for people who wait for it."""

from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

COMMENTS = {
    "stage": "Of a document in work: reading, indexing; '''': nobody has begun",
    "pages_done": "Pages that this stage has done, of `pages`",
}


def upgrade() -> None:
    """No table is rewritten."""
    op.execute(
        "ALTER TABLE ibid.document ADD COLUMN stage text NOT NULL DEFAULT '',"
        " ADD COLUMN pages_done integer NOT NULL DEFAULT 0"
    )
    for column, comment in COMMENTS.items():
        op.execute(f"COMMENT ON COLUMN ibid.document.{column} IS '{comment}'")


def downgrade() -> None:
    """Drop them."""
    op.execute("ALTER TABLE ibid.document DROP COLUMN stage, DROP COLUMN pages_done")
