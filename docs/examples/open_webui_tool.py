"""
title: Steelyard
description: Search a Steelyard knowledge base, and cite what it says.
version: 1.0
required_open_webui_version: 0.5.0
"""

# Paste this file under Workspace > Tools > New; then set the address and a token in its valves. The
# token needs the scope `read`; without one the tool finds what visitors may read.

import asyncio
import json
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from pydantic import BaseModel, Field


class Tools:
    class Valves(BaseModel):
        site: str = Field("http://127.0.0.1:8000", description="The address of the site")
        token: str = Field("", description="An API token with the scope read")
        passages: int = Field(6, ge=1, le=20, description="The passages of a search")

    def __init__(self) -> None:
        self.valves = self.Valves()
        self.citation = False  # each passage is cited by an event of its own

    async def search_knowledge_base(self, query: str, __event_emitter__: Any = None) -> str:
        """
        Search the knowledge base for passages that answer a question. Cite them by their numbers.

        :param query: The question, or the words to search for, in the user's language.
        :return: The passages with their numbers, titles and addresses.
        """
        try:
            found = await asyncio.to_thread(self._search, query)
        except HTTPError as error:
            with error:
                return f"The search failed: {error.read().decode(errors='replace')[:500]}"
        except OSError as error:
            return f"The knowledge base cannot be reached: {error}"
        for result in found if __event_emitter__ else ():
            await __event_emitter__(_citation(result))
        passages = (_passage(number, result) for number, result in enumerate(found, 1))
        return "\n\n".join(passages) or "Nothing was found."

    def _search(self, query: str) -> list[dict[str, Any]]:
        asked = {"query": query, "page_size": self.valves.passages}
        address = f"{self.valves.site.rstrip('/')}/api/v1/search/"
        request = Request(address, json.dumps(asked).encode(), method="POST")
        request.add_header("Content-Type", "application/json")
        if self.valves.token:
            request.add_header("Authorization", f"Bearer {self.valves.token}")
        with urlopen(request, timeout=60) as answer:
            return list(json.load(answer)["results"])


def _passage(number: int, result: dict[str, Any]) -> str:
    document = result["document"]
    said = filter(None, (document["currency"]["label"], document["gap"]))
    notes = "".join(f"\nNote: {each}" for each in said)
    return f"[{number}] {document['title']} ({document['url']}){notes}\n{result['text']}"


def _citation(result: dict[str, Any]) -> dict[str, Any]:
    document = result["document"]
    source = {"name": document["title"], "url": document["url"]}
    data = {
        "document": [result["text"]],
        "metadata": [{"source": document["url"], "page": result["page"]}],
        "source": source,
    }
    return {"type": "citation", "data": data}
