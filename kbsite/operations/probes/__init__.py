"""The probes of this site, by what they examine; imported when the site starts."""
