"""Imports of many files or pages: from an archive, a manifest, a folder or the web.

protocol  -> the interface between the runner and the kinds of import; read first
archives, folders, manifests, web -> the kinds; `manifests` also maps Import.Kind to its class
services  -> start, stop, resume, retry and remove imports
runner    -> discovers the items and ingests them one by one; can be interrupted and resumed
"""
