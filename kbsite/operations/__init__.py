"""What an operator needs: probes of the site, monitoring, backups."""
