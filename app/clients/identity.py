"""Which database this is: what kept results are bound to, since two databases may share a cache.

A restored dump and CREATE DATABASE … TEMPLATE take every row along, so that rows alone do not tell. Raises
`Unavailable`.
"""

import hashlib
import json
from contextlib import suppress

import asyncpg

from app.clients.faults import postgres_faults
from app.clients.pool import Pool

BASE = """
    SELECT base.oid::bigint, base.datname, tenant.created_at::text
    FROM ibid.tenant AS tenant, pg_database AS base
    WHERE tenant.id = 'default' AND base.datname = current_database()
"""
"""Its number and name on its server, and when its first tables were made, to the microsecond."""
SERVER = "SELECT system_identifier FROM pg_control_system()"
"""Which server, since its initdb; some keep it from their users."""


async def identity(pool: Pool) -> str:
    """64 hex digits, the same for every replica; two databases share them only if one's data folder is a
    copy of the other's."""
    with postgres_faults():
        parts = list(await pool.fetchrow(BASE) or ())
        with suppress(asyncpg.SyntaxOrAccessError):  # class 42: not permitted, or not there
            parts.append(await pool.fetchval(SERVER))
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
