"""The bin of documents and of collections: rows in it are read, and taken out again."""

from __future__ import annotations

from typing import Any, ClassVar

from rest_framework.request import Request
from rest_framework.response import Response

from common.api.access import require
from common.api.requests import body_of, read_body
from common.api.serializers import BooleanField, Parameters
from common.api.views import reads
from common.api.viewsets import ListParameters, ReadViewSet, Row

RESTORES = "False takes it out of the bin; alone. 409 if another one has its place by now."


class BinParameters(Parameters):
    """Whether the rows are in the bin."""

    deleted = BooleanField(
        required=False, help_text="True: only what is in the bin; for users who may change it."
    )


class BinListParameters(BinParameters, ListParameters):
    """Filters of a list whose rows may be in the bin."""

    def filter_deleted(self, rows: Any, value: bool) -> Any:
        """The view chose the rows already: what is in the bin needs a permission."""
        return rows


class RestoreField(BooleanField):
    """Whether the row is in the bin. PATCH takes it out."""

    default_error_messages: ClassVar[Any] = {"true": "Send DELETE to put it into the bin."}

    def to_internal_value(self, data: Any) -> bool:
        if super().to_internal_value(data):
            self.fail("true")
        return False


class RestoreSerializer(Parameters):
    """The body that takes a row out of the bin."""

    deleted = RestoreField()


class BinViewSet(ReadViewSet[Row]):
    """Rows that DELETE puts into the bin. Whoever may change them sees what is in it."""

    change: ClassVar[str]
    """The permission to change a row."""

    def is_for_bin(self) -> bool:
        """Whether the request is about the bin. Raises PermissionDenied if the user may not."""
        parameters = getattr(self, "parameters", None)
        restores = self.action == "partial_update" and "deleted" in body_of(self.request)
        if restores or (parameters and parameters.validated_data.get("deleted")):
            require(self.request, self, self.change)
            return True
        return False

    @reads(BinParameters)
    def retrieve(self, *args: Any, **kwargs: Any) -> Response:
        return super().retrieve(*args, **kwargs)

    def partial_update(self, request: Request, *args: Any, **kwargs: Any) -> Any:
        if "deleted" not in body_of(request):
            return super().partial_update(request, *args, **kwargs)  # type: ignore[misc]
        read_body(request, RestoreSerializer)
        self.restore(self.get_object())
        self.action = "restored"
        return self.respond(self.get_object())

    def restore(self, row: Row) -> None:
        """Take the row out of the bin."""
        raise NotImplementedError
