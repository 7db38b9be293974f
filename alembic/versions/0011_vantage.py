"""Why a vantage answer is what it is, and the cards and facts of a namespace.

public.vantage_answer_trace is shared with older tools and may be there, written by older tools: what is
missing is added and none of their columns is tightened: no index of Ibid is unique, as their ids need not be.
Their rows belong to the tenant `default`.
"""

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

TRACE = """
CREATE TABLE IF NOT EXISTS public.vantage_answer_trace (answer_id text PRIMARY KEY);
ALTER TABLE public.vantage_answer_trace
    ADD COLUMN IF NOT EXISTS answer_id      text,
    ADD COLUMN IF NOT EXISTS tenant         text NOT NULL DEFAULT 'default',
    ADD COLUMN IF NOT EXISTS owner          text NOT NULL DEFAULT '',
    ADD COLUMN IF NOT EXISTS user_id        text,
    ADD COLUMN IF NOT EXISTS thread_id      text,
    ADD COLUMN IF NOT EXISTS vantage_id     text,
    ADD COLUMN IF NOT EXISTS project        text,
    ADD COLUMN IF NOT EXISTS response_class text,
    ADD COLUMN IF NOT EXISTS rules          text[] NOT NULL DEFAULT '{}',
    ADD COLUMN IF NOT EXISTS policy_version text,
    ADD COLUMN IF NOT EXISTS policy_sha256  text,
    ADD COLUMN IF NOT EXISTS params         jsonb NOT NULL DEFAULT '{}',
    ADD COLUMN IF NOT EXISTS mix            jsonb NOT NULL DEFAULT '{}',
    ADD COLUMN IF NOT EXISTS sd             jsonb,
    ADD COLUMN IF NOT EXISTS class_check    jsonb,
    ADD COLUMN IF NOT EXISTS used           jsonb NOT NULL DEFAULT '[]',
    ADD COLUMN IF NOT EXISTS memory_ids     text[] NOT NULL DEFAULT '{}',
    ADD COLUMN IF NOT EXISTS corpus_ids     text[] NOT NULL DEFAULT '{}',
    ADD COLUMN IF NOT EXISTS model          text,
    ADD COLUMN IF NOT EXISTS prompt_sha256  text,
    ADD COLUMN IF NOT EXISTS timings        jsonb NOT NULL DEFAULT '{}',
    ADD COLUMN IF NOT EXISTS inspect_only   boolean NOT NULL DEFAULT false,
    ADD COLUMN IF NOT EXISTS created_at     timestamptz NOT NULL DEFAULT now();
CREATE INDEX IF NOT EXISTS vantage_answer_trace_answer ON public.vantage_answer_trace (answer_id);
CREATE INDEX IF NOT EXISTS vantage_answer_trace_user
    ON public.vantage_answer_trace (tenant, user_id, created_at DESC);
"""

# Their columns that must not be null, and that we do not know, would refuse every row of Ibid, and
# the answer with it: null is allowed there from now on.
LOOSENED = """
DO $$
DECLARE theirs text;
BEGIN
    FOR theirs IN
        SELECT attname FROM pg_attribute AS held
        WHERE attrelid = 'public.vantage_answer_trace'::regclass AND attnum > 0 AND NOT attisdropped
        AND attnotnull AND NOT atthasdef AND attidentity = '' AND NOT EXISTS (
            SELECT FROM pg_index WHERE indrelid = held.attrelid AND indisprimary AND attnum = ANY (indkey))
    LOOP
        EXECUTE format('ALTER TABLE public.vantage_answer_trace ALTER COLUMN %I DROP NOT NULL', theirs);
    END LOOP;
END $$
"""

CARDS = """
CREATE TABLE ibid.vantage_card (
    id          text PRIMARY KEY,                       -- UUIDv5 of whose it is and its words
    tenant      text NOT NULL,
    vantage_id  text NOT NULL,
    user_id     text,                                   -- null: every user of the namespace
    text        text NOT NULL,
    key         text,
    weight      double precision NOT NULL DEFAULT 1,
    created_at  timestamptz NOT NULL DEFAULT now(),
    updated_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX vantage_card_shown ON ibid.vantage_card (tenant, vantage_id, weight DESC, updated_at DESC);
CREATE INDEX vantage_card_user ON ibid.vantage_card (tenant, user_id) WHERE user_id IS NOT NULL;

CREATE TABLE ibid.vantage_fact (LIKE ibid.vantage_card INCLUDING ALL);
"""


def upgrade() -> None:
    """Make them."""
    for table in (TRACE, CARDS):
        for statement in table.split(";\n"):  # asyncpg prepares each: one statement at a time
            if statement.strip():
                op.execute(statement)
    op.execute(LOOSENED)


def downgrade() -> None:
    """Drop what is ours alone; the trace stays, others write it too."""
    for table in ("vantage_fact", "vantage_card"):
        op.execute(f"DROP TABLE ibid.{table}")
