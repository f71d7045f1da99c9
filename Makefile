# Everything runs in the virtual environment that uv.lock describes. uv is taken from the PATH, or from PyPI into .uv/.

UV := $(shell command -v uv 2>/dev/null || echo .uv/bin/uv)
RUN := $(UV) run --frozen --quiet

# Set in many containers: then every process, and tests start hundreds, compiles all it imports anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test setup lint types fast slow benchmark ui clean

setup: .venv/.locked

.venv/.locked: uv.lock pyproject.toml orchestration/medfoundry_dagster.pth | $(UV)
	$(UV) sync --frozen --quiet
	touch $@

.uv/bin/uv:
	python3 -m venv .uv
	.uv/bin/python -m pip install --quiet --disable-pip-version-check uv==0.13.9

demo: setup
	$(RUN) medfoundry demo
	$(RUN) dagster asset materialize --select 'kits23*'
	@echo
	@$(RUN) medfoundry status kits23
	@echo
	@echo "Open the UI:   . .venv/bin/activate && dagster dev     then http://127.0.0.1:3000"
	@echo "Once more:     dagster asset materialize --select kits23*     computes nothing"

ui: setup
	$(RUN) dagster dev

test: lint types fast slow

lint: setup
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) lint-imports

types: setup
	$(RUN) mypy

fast: setup
	$(RUN) pytest -n auto -m "not slow"

slow: setup
	$(RUN) pytest -n auto -m slow

benchmark: setup
	$(RUN) python benchmarks/subject.py

clean:
	rm -rf .venv .uv .mypy_cache .ruff_cache .pytest_cache .hypothesis
