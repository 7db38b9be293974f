"""What each project shows the model: data and formatting, pure. Imports `app.domain` alone."""
