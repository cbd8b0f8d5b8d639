"""What the site's parts tell an operator (docs/monitoring.md): nothing here knows Django.

metrics    the counters and histograms of every process
processes  where they are kept, so that one scrape shows all processes of a machine
ids        the ids that connect log lines: of the request, the search, the task
tracing    spans of a trace, which cost nothing while none is collected
"""
