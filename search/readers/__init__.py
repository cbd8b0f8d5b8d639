"""A reader's own things: history, saved searches and their news, favourites.

They belong to one user. Nobody else reads them, staff included: they are in no admin, and every
function here takes the user whose they are.

history    -> what a reader asked, if they want it kept
saving     -> saved searches, their feeds, favourites
news       -> a worker finds new documents of saved searches, and mails a digest
exporting  -> all that belongs to a reader, as one JSON object
"""
