"""Imports of many files or pages: from an archive, a manifest, a folder or the web.

protocol  -> what a kind of import must tell the runner; read first
sources   -> which class does so for which Import.Kind
runner    -> finds the items, takes them one by one, goes on where it was stopped
"""
