"""Speed and quality harnesses, runnable by anyone: `make bench`, `make eval DATA=folder`."""
