"""W: golden queries, evaluation, the workbench, publishing, the optimiser."""
