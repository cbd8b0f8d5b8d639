"""The pages under /me/: a reader's own things. For signed-in users, each seeing only their own."""
