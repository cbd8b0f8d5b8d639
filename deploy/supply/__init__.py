"""What Steelyard is made of: pins with hashes, a bill of materials, licences, known faults.

``python -m deploy.supply COMMAND``; the Makefile has a target for each.
"""
