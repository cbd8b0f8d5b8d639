"""Other retrievers beside Steelyard: each a module with a `Searcher` (`shared.Peer`)."""
