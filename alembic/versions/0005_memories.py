"""Memories with their votes, and the reference texts of the corpus; the versions that caches compare.

A row is searchable once `indexed_at` is set; one with `removed_at` is unanswerable and waits for its point
to go. Both are finished at the next start, or by the chore, where a crash came between.
"""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

MEMORIES = """
CREATE TABLE ibid.memory (
    id          text PRIMARY KEY,                       -- UUIDv5 of whose it is and its words
    tenant      text NOT NULL,
    user_id     text NOT NULL,
    text        text NOT NULL,
    kind        text NOT NULL,
    tags        text[] NOT NULL DEFAULT '{}',
    origin      text NOT NULL,
    vantage_id  text,
    thread_id   text NOT NULL DEFAULT '',
    place       integer NOT NULL,                       -- in the user's thread, from 1
    fields      jsonb NOT NULL DEFAULT '{}',
    tokens      integer NOT NULL,
    space       text NOT NULL,                          -- ibid.space.name
    embedding   vector NOT NULL,                        -- no dimension: spaces differ
    created_at  timestamptz NOT NULL DEFAULT now(),
    indexed_at  timestamptz,
    removed_at  timestamptz
);
CREATE INDEX memory_newest ON ibid.memory (tenant, user_id, created_at DESC, id);
CREATE INDEX memory_place ON ibid.memory (tenant, user_id, thread_id, place);
CREATE INDEX memory_unfinished ON ibid.memory (id) WHERE indexed_at IS NULL OR removed_at IS NOT NULL;

CREATE TABLE ibid.memory_user (
    tenant      text NOT NULL,
    user_id     text NOT NULL,
    version     bigint NOT NULL DEFAULT 0,              -- grows with every change that a search would see
    erased_at   timestamptz,
    PRIMARY KEY (tenant, user_id)
);

CREATE TABLE ibid.memory_vote (
    tenant      text NOT NULL,
    user_id     text NOT NULL,
    memory_id   text NOT NULL,
    answer_id   text NOT NULL,                          -- a vote without an answer: a name of its own
    signal      smallint NOT NULL CHECK (signal IN (-1, 1)),
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, user_id, memory_id, answer_id)
);
"""

CORPUS = """
CREATE TABLE ibid.corpus_text (
    tenant      text NOT NULL,
    collection  text NOT NULL,
    id          text NOT NULL,                          -- as the writer names it, else its point's
    point       text NOT NULL,                          -- UUIDv5 of tenant, collection and id
    text        text NOT NULL,
    title       text NOT NULL DEFAULT '',
    metadata    jsonb NOT NULL DEFAULT '{}',
    tokens      integer NOT NULL,
    space       text NOT NULL,
    embedding   vector NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    indexed_at  timestamptz,
    removed_at  timestamptz,
    PRIMARY KEY (tenant, collection, id)
);
CREATE INDEX corpus_unfinished ON ibid.corpus_text (point) WHERE indexed_at IS NULL OR removed_at IS NOT NULL;

CREATE TABLE ibid.corpus_version (
    tenant      text PRIMARY KEY,
    version     bigint NOT NULL DEFAULT 0
);
"""


def upgrade() -> None:
    """Make them."""
    for table in (MEMORIES, CORPUS):
        for statement in table.split(";\n"):  # asyncpg prepares each: one statement at a time
            if statement.strip():
                op.execute(statement)


def downgrade() -> None:
    """Drop them."""
    for table in ("corpus_version", "corpus_text", "memory_vote", "memory_user", "memory"):
        op.execute(f"DROP TABLE ibid.{table}")
