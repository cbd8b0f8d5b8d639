"""Passages corrected by hand, and how corrections survive a new version."""
