"""pgvector's binary wire format to and from the domain's `Embedding`, so that no list of floats is made.

`vector` on the wire (pgvector src/vector.c, vector_send): uint16 dimensions, uint16 unused, then float32,
all big-endian. An Embedding is the same floats little-endian. Either way is one byte swap: about 1 µs for
384 dimensions. Raises `ValueError` for bytes that are not float32.
"""

import struct

import asyncpg
import numpy as np

from app.domain.passage import Embedding

HEAD = struct.Struct(">HH")
SCHEMA = "SELECT typnamespace::regnamespace::text FROM pg_type WHERE oid = to_regtype('vector')"
"""Some hosts keep the extension in a schema of its own; the search path finds it."""


def encode(embedding: Embedding) -> bytes:
    """An Embedding as the wire wants it."""
    return HEAD.pack(len(embedding) // 4, 0) + np.frombuffer(embedding, "<f4").astype(">f4").tobytes()


def decode(wire: bytes) -> Embedding:
    """What the wire brought, as an Embedding."""
    return np.frombuffer(wire, ">f4", offset=HEAD.size).astype("<f4").tobytes()


async def register(connection: asyncpg.Connection) -> None:
    """Let this connection give and take `vector` values as Embeddings, in COPY too."""
    schema = await connection.fetchval(SCHEMA)
    await connection.set_type_codec("vector", schema=schema, encoder=encode, decoder=decode, format="binary")
