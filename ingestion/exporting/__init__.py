"""A collection as one file, and that file as a collection.

format    -> what stands where in the ZIP, and which versions of it can be read
attaching -> further parts: what other applications keep about a collection
writing   -> collection -> stream of bytes, flat in memory
restoring -> archive -> collection; document by document, so that it can go on
"""
