"""The corpus: the same everywhere, of the promised size, and never alike."""

import numpy as np

from app.models.encoder import DIM
from app.models.tokens import O200k
from bench.corpus import SUBJECTS, question, subject, text
from bench.layout import File, files, row_of
from bench.stub import MARK
from bench.vectors import vectors


def test_a_row_is_always_the_same() -> None:
    """Texts are a function of their row, or two runs would not compare."""
    assert text(7) == text(7)
    assert text(7) != text(8)


def test_texts_are_of_about_200_tokens() -> None:
    """As the issue's figures are."""
    counts = [O200k().count(text(row)) for row in range(100)]
    assert 180 <= sum(counts) / len(counts) <= 220


def test_no_text_holds_the_mark_of_the_models_tokens() -> None:
    """Or an answer could look whole that is not."""
    assert not any(MARK.decode() in text(row).lower() + question(row).lower() for row in range(2_000))


def test_no_two_questions_are_alike() -> None:
    """No cache may help where messages are distinct."""
    assert len({question(n) for n in range(5_000)}) == 5_000


def test_vectors_are_near_their_subject() -> None:
    """Unit length, and a cosine of .89 to their centre."""
    centres = np.eye(SUBJECTS, DIM, dtype=np.float32) + np.eye(SUBJECTS, DIM, -DIM, dtype=np.float32)
    rows = [row for row in range(400) if subject(row) < DIM]
    found = vectors(rows, centres)
    near = [float(vector @ centres[subject(row)]) for vector, row in zip(found, rows, strict=True)]
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    assert 0.8 < sum(near) / len(near) < 0.95


def test_half_of_the_shared_layout_is_in_reach() -> None:
    """A quarter in the session, a quarter for all of its tenant, and every row exactly once."""
    filed = list(files(10_000, "shared"))
    reach = [file for file in filed if file.home.tenant == "default" and file.home.session in ("bench", None)]
    assert sum(len(file.rows) for file in reach) == 5_000
    assert [row for file in filed for row in file.rows] == list(range(10_000))


def test_a_passages_name_leads_to_its_row() -> None:
    """So that recall can be counted from what a search returns."""
    file: File = list(files(200, "one"))[3]
    assert [row_of(file.name, ordinal) for ordinal in (1, 50)] == [file.rows[0], file.rows[-1]]
