"""The nightly quality run and its alerts."""
