"""Search analytics: events, gaps, reports, and the retention of personal data."""
