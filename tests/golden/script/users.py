"""What is kept of a person: handed out, and erased."""

from tests.golden.ask import chat, delete, get, rag

ASKS = (
    get("export", "/users/ben/export"),
    get("export-zeta", "/users/ben/export", "zeta"),
    delete("erase-user-key-other", "/users/ben", "ada"),
    delete("erase-unknown-parameter", "/users/dora?dry_run=1"),
    delete("erase-zeta", "/users/ben", "zeta"),
    delete("erase", "/users/ben"),
    rag("erase-rag-after", "What is the name of my cat?", user_id="ben"),
    get("erase-export-after", "/users/ben/export"),
    get("erase-changes-malformed", "/users/ben/changes?since=yesterday"),
    get("erase-memories-after", "/memories?user_id=ben"),
    get("erase-documents-after", "/api/documents?session_id=owned"),
    chat("erase-ada-untouched", "Who is my dentist?", user_id="ada", sources=["memories"], thread_id="ada-1"),
)
