"""Columns that another tool made, and what fits into them."""

import asyncpg
import pytest

from app.db.pool import Pool
from app.db.projects import Column, filling, shape, taking, vectors
from app.db.rows import transaction
from app.errors import IbidError, InvalidField, Rejected, Unavailable

TABLE = """
    CREATE TABLE public.theirs (
        "Odd ""name" varchar(7) NOT NULL, embedding vector(1536), n serial NOT NULL, gone text,
        at timestamp(3) with time zone NOT NULL, made bigint GENERATED ALWAYS AS IDENTITY)
"""
REFUSING = (
    """ALTER TABLE public.theirs ADD CONSTRAINT no_secret CHECK ("Odd ""name" <> 'secret')""",
    """CREATE FUNCTION public.refused() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION 'raised: %', NEW."Odd ""name"; END $$""",
    """CREATE TRIGGER refusing BEFORE INSERT ON public.theirs FOR EACH ROW
        WHEN (NEW."Odd ""name" = 'raised') EXECUTE FUNCTION public.refused()""",
)


def column(kind: str, *, required: bool = False, filled: bool = False, name: str = "embedding") -> Column:
    """One."""
    return Column(name, kind, required, filled)


async def test_a_table_is_read_from_the_catalog(pool: Pool) -> None:
    """As it is now: types with their lengths, names as they are."""
    await pool.execute(TABLE)
    await pool.execute("ALTER TABLE public.theirs DROP gone")
    async with transaction(pool) as connection:
        found = await shape(connection, "public.theirs")

    assert list(found) == ['Odd "name', "embedding", "n", "at", "made"]
    assert found['Odd "name'] == Column('Odd "name', "character varying(7)", required=True, filled=False)
    assert found["embedding"].dim == 1536
    assert [found[name].filled for name in ("n", "at", "made")] == [True, False, True]


@pytest.mark.parametrize(
    ("kind", "dim"),
    [("vector", 0), ("vector(8)", 8), ("extensions.vector(8)", 8), ("halfvec(8)", None), ("text", None)],
)
def test_columns_of_vectors_are_known(kind: str, dim: int | None) -> None:
    """Whatever schema the extension is in."""
    assert column(kind).dim == dim


@pytest.mark.parametrize(
    ("theirs", "embedding", "beside"),
    [
        pytest.param(column("vector"), "v::vector", "NULL", id="any length"),
        pytest.param(column("vector(8)"), "v::vector(8)", "NULL", id="our length"),
        pytest.param(column("vector(9)"), "NULL", "v", id="another length"),
        pytest.param(column("halfvec(8)"), "NULL", "v", id="another type"),
        pytest.param(
            column("vector(9)", required=True), "array_fill(0, ARRAY[9])::vector(9)", "v", id="required"
        ),
    ],
)
def test_a_vector_goes_where_it_fits(theirs: Column, embedding: str, beside: str) -> None:
    """Into their column, else beside it."""
    assert vectors({"embedding": theirs}, 8, "v") == {"embedding": embedding, "embedding_ibid": beside}


def test_only_what_must_be_is_filled() -> None:
    """Columns of theirs without a default, whose type has a value that says nothing."""
    theirs = {
        each.name: each
        for each in (
            column("text", required=True, name="ours"),
            column("text", required=True, name="text"),
            column("text", name="free"),
            column("integer", required=True, filled=True, name="counted"),
            column("point", required=True, name="place"),
        )
    }

    assert filling(theirs, {"ours": "x"}) == {"text": "''"}


@pytest.mark.parametrize(
    ("values", "kind", "name"),
    [
        pytest.param("NULL, now()", InvalidField, 'Odd "name', id="nothing"),
        pytest.param("'too much for it', now()", InvalidField, "too long .* varying", id="a long text"),
        pytest.param("'secret', now()", InvalidField, "no_secret", id="a constraint"),
        pytest.param("'raised', now()", InvalidField, "RaiseError", id="a trigger"),
        pytest.param("'a', 'secret'::text::timestamptz", Rejected, "InvalidDatetime", id="our own mistake"),
    ],
)
async def test_what_a_table_refuses_is_named(
    pool: Pool, values: str, kind: type[IbidError], name: str
) -> None:
    """The column, the constraint, or the kind of fault; never what was written."""
    for statement in (TABLE, *REFUSING):
        await pool.execute(statement)

    with pytest.raises(kind, match=name) as caught, taking("public.theirs"):
        await pool.execute(f'INSERT INTO public.theirs ("Odd ""name", at) VALUES ({values})')  # noqa: S608
    for told in ("too much", "secret'", "raised"):
        assert told not in caught.value.detail


async def test_a_server_that_is_down_is_no_refusal() -> None:
    """It is asked again."""
    with pytest.raises(Unavailable), taking("public.theirs"):
        raise asyncpg.ConnectionDoesNotExistError
