"""A reader's own things: history, saved searches and their news, favourites.

They belong to one user. Nobody else reads them, staff included: they are in no admin, and every
function here takes the user whose they are.

history, saved_searches, favourites -> what they keep; own_data: all of it as one JSON object
search_news -> a worker finds new documents of saved searches; digests of them
mailing -> mails to one person after another, by a server that may hang or refuse
"""
