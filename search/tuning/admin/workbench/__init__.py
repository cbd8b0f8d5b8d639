"""The workbench's pages."""
