#!/usr/bin/env python
"""Steelyard's command line in a checkout."""

import sys

from kbsite.command_line import manage

if __name__ == "__main__":
    manage(sys.argv)
