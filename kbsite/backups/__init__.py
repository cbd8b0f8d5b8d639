"""Backups: the database and the originals as of one moment, encrypted, to a folder or to S3.

    writing   copies what is new, dumps one snapshot, writes the list of it all last
    reading   lists, verifies and restores
    services  when one is due, how many are kept, which was the last

docs/adr/0072-backups.md gives the reasons, docs/backup.md the commands.
"""
