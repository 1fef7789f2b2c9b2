# Two commands do everything on a machine with Python >= 3.11: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
export OMP_WAIT_POLICY ?= PASSIVE

.PHONY: demo test check clean

demo: $(STAMP)
	$(BIN)/quantlit fit --config configs/quickstart.yaml
	$(BIN)/quantlit test --ckpt_path runs/quickstart
	@echo "Look at it:  $(BIN)/tensorboard --logdir runs"

test: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "quantlit needs Python >= 3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	$(BIN)/python -m pip install --quiet --no-deps 'skfolio>=0.10'
	touch $@

clean:
	rm -rf $(VENV) runs data build dist
