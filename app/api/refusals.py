"""Which problems a route may answer, by what it does: for OpenAPI's `responses=`."""

from app import errors

ASKING = (
    errors.Unauthorized,
    errors.NotLocal,
    errors.Misdirected,
    errors.InvalidField,
    errors.Unavailable,
)
"""Any route that asks who calls."""
SENDING = (errors.BadInput, errors.Stalled, errors.TooLarge, errors.WrongType, errors.InvalidField)
"""Any route with a body."""
READING = (
    errors.EmptyFile,
    errors.NotPdf,
    errors.PdfEncrypted,
    errors.PdfDamaged,
    errors.PdfTextless,
    errors.PdfUnreadable,
    errors.PdfTooComplex,
    errors.RemovedMeanwhile,
)
"""A PDF that cannot be taken, or was taken away again."""
KEEPING = (errors.NoRoom,)
"""Any route whose answer says that something is kept."""
MODEL = (errors.ModelError, errors.ModelRefused, errors.ModelBusy, errors.ModelTimeout, errors.Overloaded)
"""An answer that cannot begin."""
