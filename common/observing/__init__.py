"""What the site's parts tell an operator (docs/monitoring.md): nothing here knows Django.

metrics    the counters and histograms of every process
processes  where they are kept, so that one scrape shows all processes of a machine
ids        they connect the log lines of one piece of work
"""
