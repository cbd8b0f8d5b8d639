"""Tools for operators: probes of the site, monitoring, backups."""
