"""How dates are written on all pages (FORMAT_MODULE_PATH)."""
