"""The pages of the workbench."""
