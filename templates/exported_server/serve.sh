#!/bin/sh
# Install what is missing, then serve on http://localhost:8000/ (HOST and PORT change it).
set -eu
cd "$(dirname "$0")"
if [ ! -e .venv/.installed ]; then
    python3 -m venv .venv
    .venv/bin/pip install --quiet --requirement app/requirements.txt
    touch .venv/.installed
fi
exec .venv/bin/python app/manage.py serve_export data
