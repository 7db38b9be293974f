# One command for each chore, the same for people and CI.
# Needs Python 3.11.5+ (before it possessive quantifiers of `re` match wrongly) and make; all else is installed into .venv.

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

# Set in many containers. Every start would compile all it imports anew: three seconds of a processor.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help install run test check fmt bench eval golden lock clean

help: ## Print this list
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 18

install: $(STAMP) ## Create .venv and install the locked dependencies

$(STAMP): requirements.lock installer.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11, 5))' || { echo "Ibid needs Python 3.11.5 or newer: make PYTHON=python3.12 ..." >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r installer.lock
	@$(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes requirements.lock installer.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

run: install ## Start Ibid on http://127.0.0.1:8000 with every store embedded
	@exec $(BIN)/ibid serve

test: install ## Run the whole test suite against real embedded stores
	@$(BIN)/python -m pytest

check: install ## Format, lint, types, import contracts and prose
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m tests.prose

fmt: install ## Format the code and mend what the linter can
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

bench: install ## Measure speed, in ratios to a floor of the same run; QUICK=1 or FULL=1
	@$(BIN)/python -m bench $(if $(QUICK),--quick) $(if $(FULL),--full)

eval: install ## Measure retrieval quality; DATA="folders of questions and texts, or of questions and PDFs"
	@test -n "$(DATA)" || { printf '%s\n' 'make eval DATA="FOLDER ..." [ARGS="--against FILE"]' \
	    'A folder has corpus.jsonl {id, text, title?, scope?, meta?} and queries_dev.jsonl {id, text, scope?,' \
	    'rel: {id: grade}}, or PDFs and questions.jsonl {file, question, pages}; where questions name spans of the' \
	    'texts (meta: {spans: [[start, end]]}), what is packed is measured. Figures also go to' \
	    'bench/out/eval.jsonl. More: $(BIN)/ibid eval --help' >&2; exit 2; }
	@texts=; for folder in $(DATA); do \
	    if [ -f "$$folder/questions.jsonl" ]; then $(BIN)/python -m bench.quality "$$folder" && $(BIN)/python -m bench.boxes "$$folder" || exit 1; \
	    elif grep -qs '"spans"' "$$folder/queries_dev.jsonl"; then $(BIN)/python -m bench.spans "$$folder" || exit 1; \
	    else texts="$$texts $$folder"; fi; \
	done; \
	test -z "$$texts" || $(BIN)/ibid eval $$texts --queries bench/out/eval.jsonl $(ARGS)

golden: install ## Compare the service with the golden record; RECORD=1 records it anew, DIFF=1 lists what changed
	@$(BIN)/python -m tests.golden $(if $(RECORD),record,$(if $(DIFF),differences,compare)) $(ARGS)

lock: install ## Resolve the dependencies anew and pin them with hashes
	@$(BIN)/uv pip compile --quiet --upgrade --generate-hashes --no-emit-index-url --no-header --universal --extra dev pyproject.toml -o requirements.lock
	@sed -i.old "1i # Written by make lock: pinned and hashed, without index addresses." requirements.lock && rm requirements.lock.old

clean: ## Remove the virtual environment and caches, never your data
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache *.egg-info
