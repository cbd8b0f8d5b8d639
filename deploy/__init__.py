"""What installs, packs and checks a release; nothing here runs in a site."""
