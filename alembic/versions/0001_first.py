"""The first tables: tenants and keys, spaces, documents with their bytes and chunks, jobs, answers, turns.

Everything has a tenant. Where a document lives is (tenant, owner, session_id): owner is the key's user or
'', session_id '' is what all of a tenant share. Similarities and floors are cosine; tokens are o200k.
"""

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

WHO = """
CREATE EXTENSION IF NOT EXISTS vector;

CREATE TABLE ibid.tenant (
    id          text PRIMARY KEY,
    created_at  timestamptz NOT NULL DEFAULT now()
);
INSERT INTO ibid.tenant (id) VALUES ('default');

CREATE TABLE ibid.api_key (
    id          text PRIMARY KEY,
    tenant      text NOT NULL REFERENCES ibid.tenant,
    user_id     text,                                   -- null: a tenant key
    sha256      bytea NOT NULL UNIQUE CHECK (octet_length(sha256) = 32),
    prefix      text NOT NULL,                          -- the first characters, to tell keys apart in a list
    name        text NOT NULL DEFAULT '',
    created_at  timestamptz NOT NULL DEFAULT now(),
    revoked_at  timestamptz
);
"""

SPACES = """
CREATE TABLE ibid.space (
    name        text PRIMARY KEY,
    model       text NOT NULL,
    dim         integer NOT NULL CHECK (dim BETWEEN 1 AND 16000),
    floor       double precision NOT NULL,                        -- median cosine of unrelated texts
    created_at  timestamptz NOT NULL DEFAULT now(),
    current     boolean NOT NULL DEFAULT false
);
CREATE UNIQUE INDEX space_current ON ibid.space (current) WHERE current;
"""

DOCUMENTS = """
CREATE TABLE ibid.part (
    tenant      text NOT NULL,
    owner       text NOT NULL DEFAULT '',
    session_id  text NOT NULL DEFAULT '',
    version     bigint NOT NULL DEFAULT 0,              -- grows with every change that a search would see
    PRIMARY KEY (tenant, owner, session_id)
);

CREATE TABLE ibid.document (
    id            text PRIMARY KEY,                     -- UUIDv7: sorts by time
    tenant        text NOT NULL,
    owner         text NOT NULL DEFAULT '',
    session_id    text NOT NULL DEFAULT '',
    filename      text NOT NULL,
    name          text NOT NULL,                        -- as labels show it, before `-2`
    state         text NOT NULL DEFAULT 'processing' CHECK (state IN ('processing', 'ready', 'failed')),
    sha256        text NOT NULL,
    size          bigint NOT NULL,
    pages         integer NOT NULL DEFAULT 0,
    chunks        integer NOT NULL DEFAULT 0,
    tokens        integer NOT NULL DEFAULT 0,
    title         text NOT NULL DEFAULT '',
    fault_slug    text,
    fault_detail  text,
    replaces      text,                                 -- the document that goes when this one is ready
    created_at    timestamptz NOT NULL DEFAULT now(),
    ready_at      timestamptz,
    removed_at    timestamptz
);
CREATE UNIQUE INDEX document_bytes ON ibid.document (tenant, owner, session_id, sha256)
    WHERE state IN ('processing', 'ready') AND removed_at IS NULL;
CREATE UNIQUE INDEX document_filename ON ibid.document (tenant, owner, session_id, filename)
    WHERE state = 'ready' AND removed_at IS NULL;
CREATE INDEX document_newest ON ibid.document (tenant, owner, id DESC) WHERE removed_at IS NULL;

CREATE TABLE ibid.document_piece (
    document_id  text NOT NULL REFERENCES ibid.document ON DELETE CASCADE,
    n            integer NOT NULL,                      -- from 0
    bytes        bytea NOT NULL,                        -- 1 MiB; the last one less
    PRIMARY KEY (document_id, n)
);
-- PDFs are compressed already
ALTER TABLE ibid.document_piece ALTER COLUMN bytes SET STORAGE EXTERNAL;

CREATE TABLE ibid.chunk (
    document_id  text NOT NULL REFERENCES ibid.document ON DELETE CASCADE,
    ordinal      integer NOT NULL CHECK (ordinal >= 1),
    text         text NOT NULL,
    page         integer NOT NULL,
    page_end     integer NOT NULL,
    heading      text NOT NULL DEFAULT '',
    tokens       integer NOT NULL,
    space        text NOT NULL,                         -- ibid.space.name
    embedding    vector NOT NULL,                       -- no dimension: spaces differ
    PRIMARY KEY (document_id, ordinal)
);

CREATE TABLE ibid.document_words (
    document_id  text PRIMARY KEY REFERENCES ibid.document ON DELETE CASCADE,
    analysis     integer NOT NULL,                      -- version of the analysis that made the terms
    terms        bytea NOT NULL
);
ALTER TABLE ibid.document_words ALTER COLUMN terms SET STORAGE EXTERNAL;

CREATE TABLE ibid.job (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind         text NOT NULL,
    document_id  text NOT NULL,                         -- no reference: a purge outlives its row
    tenant       text NOT NULL,
    owner        text NOT NULL DEFAULT '',
    session_id   text NOT NULL DEFAULT '',
    attempts     integer NOT NULL DEFAULT 0,            -- times it was leased
    lost         integer NOT NULL DEFAULT 0,            -- leases that ran out: the process died or hung
    run_after    timestamptz NOT NULL DEFAULT now(),
    lease_until  timestamptz,
    worker       text,
    created_at   timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX job_due ON ibid.job (run_after, id);
CREATE INDEX job_document ON ibid.job (document_id);
"""

ANSWERS = """
CREATE TABLE ibid.answer (
    id          text PRIMARY KEY,
    tenant      text NOT NULL,
    owner       text NOT NULL DEFAULT '',
    user_id     text,
    session_id  text,
    thread_id   text,
    endpoint    text NOT NULL,
    question    text NOT NULL,
    text        text NOT NULL,
    model       text NOT NULL,
    finish      text,                                   -- null: it ended in an error
    body        jsonb NOT NULL,                         -- citations, trace, usage, timings
    created_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX answer_thread ON ibid.answer (tenant, owner, thread_id, id DESC);
CREATE INDEX answer_user ON ibid.answer (tenant, user_id, id DESC) WHERE user_id IS NOT NULL;

CREATE TABLE ibid.activity (
    tenant           text NOT NULL,
    user_id          text NOT NULL,
    last_message_at  timestamptz NOT NULL,
    PRIMARY KEY (tenant, user_id)
);
"""

# chat_log is a table that older tools share and may be there, written by older tools: what is missing is
# added and none of their columns is tightened. Their rows belong to the tenant `default`.
CHAT_LOG = """
CREATE TABLE IF NOT EXISTS public.chat_log (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY);
ALTER TABLE public.chat_log
    ADD COLUMN IF NOT EXISTS id          bigint GENERATED ALWAYS AS IDENTITY,
    ADD COLUMN IF NOT EXISTS tenant      text NOT NULL DEFAULT 'default',
    ADD COLUMN IF NOT EXISTS owner       text NOT NULL DEFAULT '',
    ADD COLUMN IF NOT EXISTS user_id     text,
    ADD COLUMN IF NOT EXISTS thread_id   text,
    ADD COLUMN IF NOT EXISTS session_id  text,
    ADD COLUMN IF NOT EXISTS project     text,
    ADD COLUMN IF NOT EXISTS role        text,
    ADD COLUMN IF NOT EXISTS content     text,
    ADD COLUMN IF NOT EXISTS answer_id   text,
    ADD COLUMN IF NOT EXISTS created_at  timestamptz NOT NULL DEFAULT now();
CREATE INDEX IF NOT EXISTS chat_log_thread ON public.chat_log (tenant, owner, thread_id, created_at DESC);
CREATE INDEX IF NOT EXISTS chat_log_session
    ON public.chat_log (tenant, owner, session_id, created_at DESC);
"""


def upgrade() -> None:
    """Make them."""
    for table in (WHO, SPACES, DOCUMENTS, ANSWERS, CHAT_LOG):
        for statement in table.split(";\n"):  # asyncpg prepares each: one statement at a time
            if statement.strip():
                op.execute(statement)


def downgrade() -> None:
    """Drop what is ours alone; chat_log stays, others write it too."""
    for table in ("activity", "answer", "job", "document_words", "chunk", "document_piece", "document"):
        op.execute(f"DROP TABLE ibid.{table}")
    for table in ("part", "space", "api_key", "tenant"):
        op.execute(f"DROP TABLE ibid.{table}")
