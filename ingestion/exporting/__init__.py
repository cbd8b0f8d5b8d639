"""Export a collection as one file, and restore it.

format    -> the layout of the ZIP, its versions, and the parts that other apps attach
writing   -> collection -> stream of bytes, in constant memory
restoring -> archive -> collection; document by document, so that it can be resumed
"""
