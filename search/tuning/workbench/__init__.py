"""The workbench: candidate pools, what-if measures, previews."""
