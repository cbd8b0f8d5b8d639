"""A reader's own things: history, saved searches, favourites; and mails about reviews.

They belong to one user. Nobody else reads them, staff included: they are in no admin, and every
function here takes the user whose they are.

history, saved_searches, favourites -> what they keep; own_data: all of it as one JSON object
reviews -> mails to owners whose documents wait for a review, and a feed
"""
