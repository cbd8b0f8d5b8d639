"""Many files at once: imports, watched folders, web addresses."""
