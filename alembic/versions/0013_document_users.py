"""Owners of documents: the users for whom they were uploaded.

An empty string among `users` is the tenant itself, which uploaded the document without naming a user. Erasing
a user removes the documents that nobody else uploaded too.
"""

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column. Uploads of a user key belong to its user."""
    op.execute("ALTER TABLE ibid.document ADD COLUMN users text[] NOT NULL DEFAULT '{\"\"}'")
    op.execute("UPDATE ibid.document SET users = ARRAY[owner] WHERE owner <> ''")
    op.execute("CREATE INDEX document_users ON ibid.document USING gin (users)")


def downgrade() -> None:
    """Drop it."""
    op.execute("ALTER TABLE ibid.document DROP COLUMN users")
