"""The terms of each passage beside its text and vector, tokens of projects' rows, versions of collections.

One statement then loads the index of a scope. Rows that have no terms yet, or those of an older analysis, are
analysed when their scope is first loaded, and kept. The postings of whole documents are not needed any more.
"""

from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

DOCUMENT_WORDS = """
    CREATE TABLE ibid.document_words (
        document_id  text PRIMARY KEY REFERENCES ibid.document ON DELETE CASCADE,
        analysis     integer NOT NULL,
        terms        bytea NOT NULL
    );
    ALTER TABLE ibid.document_words ALTER COLUMN terms SET STORAGE EXTERNAL
"""
COLLECTIONS = """
    CREATE TABLE ibid.collection_version (
        tenant      text NOT NULL,
        collection  text NOT NULL,
        version     bigint NOT NULL DEFAULT 0,          -- grows with every change that a search would see
        PRIMARY KEY (tenant, collection)
    )
"""
FILLED = """
    INSERT INTO ibid.collection_version (tenant, collection, version)
    SELECT DISTINCT tenant, collection, 1 FROM ibid.corpus_text
"""
REPLACED = ("corpus_version", "document_words")
TABLES = ("ibid.chunk", "ibid.memory", "ibid.corpus_text")


def upgrade() -> None:
    """Add them; no table is rewritten."""
    for table in TABLES:
        op.execute(f"ALTER TABLE {table} ADD COLUMN terms bytea")
        op.execute(f"ALTER TABLE {table} ALTER COLUMN terms SET STORAGE EXTERNAL")
    for statement in (
        COLLECTIONS,
        FILLED,
        "DROP TABLE ibid.corpus_version",
        "DROP TABLE ibid.document_words",
    ):
        op.execute(statement)
    op.execute("ALTER TABLE ibid.project_words ADD COLUMN tokens integer")


def downgrade() -> None:
    """Drop them; the postings of documents are made again when they are needed."""
    op.execute(DOCUMENT_WORDS)
    op.execute(
        "CREATE TABLE ibid.corpus_version (tenant text PRIMARY KEY, version bigint NOT NULL DEFAULT 0)"
    )
    op.execute("INSERT INTO ibid.corpus_version SELECT DISTINCT tenant, 1 FROM ibid.collection_version")
    op.execute("DROP TABLE ibid.collection_version")
    for table in TABLES:
        op.execute(f"ALTER TABLE {table} DROP COLUMN terms")
    op.execute("ALTER TABLE ibid.project_words DROP COLUMN tokens")
