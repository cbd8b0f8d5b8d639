"""The line about files being read: {% load underway %}{% under_way %}."""

from __future__ import annotations

from typing import Any

from django import template

from ingestion.documents import progress

register = template.Library()


@register.inclusion_tag("ingestion/under_way.html", takes_context=True)
def under_way(context: template.Context) -> dict[str, Any]:
    """A line with how far the files being read are; nothing if there are none."""
    request = context.get("request")
    # Also without a query for the user, who is looked up only if there is something to show.
    return {"under_way": progress.under_way(request.user) if request else None}
