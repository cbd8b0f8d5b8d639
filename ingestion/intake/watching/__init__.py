"""Watched folders of the server, mirrored into collections by periodic scans.

changes   -> path patterns, and the differences since the last scan
scanning  -> one scan of a folder and its effects; read first
services  -> user actions: check a path, scan now, confirm a large deletion
"""
