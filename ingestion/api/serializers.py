"""Documents, collections, and passages with their hand edits in the API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NoReturn

from django.contrib.auth.models import Group
from django.db.models import QuerySet
from django.utils.text import slugify
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request

from common.accounts.models import User
from common.api.serializers import (
    BooleanField,
    ChoiceField,
    CleanSerializer,
    FileField,
    Strict,
)
from ingestion.api.bin import RESTORES, RestoreField
from ingestion.collections import groups_problem
from ingestion.currency_dates import CurrencyState
from ingestion.document_dates import DateKind
from ingestion.documents import completeness, currency
from ingestion.documents.restricted_readers import Readers
from ingestion.domain import Completeness
from ingestion.errors import InvalidMetadata
from ingestion.files.filetypes import SUPPORTED, main_extensions
from ingestion.lexical.languages import primary_code
from ingestion.metadata import check_metadata
from ingestion.models import (
    Chunk,
    ChunkEdit,
    Collection,
    Document,
    DocumentVersion,
    Import,
    State,
    Visibility,
)
from ingestion.models.versions import MAX_QUESTION_CHARS

_TEXTS = {"type": "array", "items": {"type": "string"}}
_VALUE = {"oneOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}, _TEXTS]}


@extend_schema_field({"type": "object", "additionalProperties": _VALUE})
class MetadataField(serializers.JSONField):
    """A flat object of texts, numbers, dates as texts, booleans and lists of texts."""

    def to_internal_value(self, data: Any) -> Any:
        try:
            return check_metadata(super().to_internal_value(data))
        except InvalidMetadata as error:
            raise serializers.ValidationError(str(error), code=error.code) from error
        except RecursionError:
            self.fail("invalid")


# Of a version: Postgres' integer.
NUMBER: dict[str, Any] = {"min_value": 1, "max_value": 2**31 - 1, "required": False}
OUTCOMES = ["added", "replaced", "unchanged", "duplicate"]


class LanguageField(serializers.CharField):
    """An ISO 639-1 code; a region is ignored (`en-GB` is read as `en`)."""

    def to_internal_value(self, data: Any) -> str:
        value = super().to_internal_value(data)
        code = primary_code(value)
        if value and not (code.isascii() and code.isalpha()):
            raise serializers.ValidationError(
                "Give a language as its two-letter code, such as en or de."
            )
        return code


_MEDIA_TYPES = {file_type.media_type for file_type in SUPPORTED.values()}


class MediaTypeField(serializers.CharField):
    """A file type by its extension or its media type."""

    def to_internal_value(self, data: Any) -> str:
        name = super().to_internal_value(data).lower()
        known = SUPPORTED.get(f".{name.removeprefix('.')}")
        if known is not None:
            return known.media_type
        if name in _MEDIA_TYPES:
            return name
        names = ", ".join(main_extensions())
        raise serializers.ValidationError(
            f"There is no type {name!r}. Use a media type or one of: {names}."
        )


MOST_NAMED = 20  # collections, in an error


class ReadableField(serializers.SlugRelatedField[Any]):
    """A row by its key. One that the user may not read is treated as missing."""

    model: Any
    key: str

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(slug_field=self.key, queryset=self.model.objects.none(), **kwargs)

    def get_queryset(self) -> QuerySet[Any]:
        rows: QuerySet[Any] = self.model.objects.visible_to(self.context["request"].user)
        return rows


class CollectionField(ReadableField):
    """A collection by its slug."""

    model, key = Collection, "slug"

    def to_internal_value(self, data: Any) -> Collection:
        if "\0" in str(data):  # Postgres refuses it by raising
            self.fail("invalid")
        return super().to_internal_value(data)  # type: ignore[no-any-return]

    def fail(self, key: str, **kwargs: Any) -> NoReturn:
        if key != "does_not_exist":
            super().fail(key, **kwargs)
        slugs = self.get_queryset().order_by("slug").values_list("slug", flat=True)
        raise serializers.ValidationError(
            f"There is no collection “{kwargs['value']}” that you may read. There are: "
            f"{', '.join(slugs[:MOST_NAMED]) or 'none'}.",
            code=key,
        )


class DocumentIdField(ReadableField):
    """A document by its id."""

    model, key = Document, "public_id"
    default_error_messages: ClassVar[Any] = {
        "does_not_exist": "There is no document {value} that you may read."
    }


class ReadersSerializer(Strict, serializers.Serializer[Any]):
    """Who alone may read a document, besides superusers, by their names: one name at least."""

    default_error_messages: ClassVar[Any] = {
        "invalid": 'Send one JSON object: {{"groups": ["crew"], "people": ["ann"]}}. A form may '
        "have the fields readers.groups and readers.people in its place.",
        "null": "Leave it out for all readers of the collection.",
        "empty": "Name a group or a person. For all readers of the collection, leave it out; "
        "PATCH takes null.",
    }

    groups = serializers.ListField(child=serializers.CharField(max_length=150), default=list)
    people = serializers.ListField(child=serializers.CharField(max_length=150), default=list)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs["groups"] and not attrs["people"]:
            self.fail("empty")
        return attrs


def named_readers(data: Mapping[str, Any]) -> Readers | None:
    """The readers in the fields of a request; None if it has none. Raises UnknownReader."""
    names = data.get("readers")
    return Readers.named(**names) if names else None


def shown_readers(row: Document | Import, user: Any) -> dict[str, list[str]] | None:
    """The names of a row's readers, for whoever added it and users who may change documents."""
    may_see = user.has_perm("ingestion.change_document") or row.added_by_id == user.pk
    readers = Readers.of(row) if may_see else None
    return readers.as_names() if readers else None


class ProblemSerializer(serializers.Serializer[Any]):
    """Why a version failed: a code for programs, a sentence for people."""

    code = serializers.CharField()
    message = serializers.CharField()


@extend_schema_field(ProblemSerializer(allow_null=True))
class ProblemField(serializers.JSONField):
    """A version's error; null while nothing went wrong."""

    def to_representation(self, value: Any) -> Any:
        return {"code": value.error_code, "message": value.error} if value.error else None


_NUMBERS = (
    "missing", "total", "with_text", "recognised", "empty", "failed", "over_limit", "tables",
    "pictures", "found", "kept",
)  # fmt: skip
_COMPLETENESS: dict[str, Any] = {
    **{name: {"type": "string", "nullable": True} for name in ("summary", "unit")},
    **{name: {"type": "number"} for name in _NUMBERS},
    "gaps": {"type": "array", "items": {"type": "object", "additionalProperties": True}},
}


@extend_schema_field({"type": "object", "properties": _COMPLETENESS, "nullable": True})
class CompletenessField(serializers.JSONField):
    """What of a file became searchable; null if that is not known."""

    def to_representation(self, value: Any) -> Any:
        counts = Completeness.from_json(value)
        numbers = {name: getattr(counts, name) for name in _NUMBERS}
        words = {"summary": completeness.summary(value), "unit": counts.unit}
        return {**words, **numbers, "gaps": value["gaps"]}


_CURRENCY: dict[str, Any] = {
    "state": {"type": "string", "enum": [state.value for state in CurrencyState]},
    "label": {"type": "string"},
    "day": {"type": "string", "format": "date", "nullable": True},
    "successor": {"type": "object", "additionalProperties": {"type": "string"}, "nullable": True},
}


@extend_schema_field({"type": "object", "properties": _CURRENCY})
class CurrencyField(serializers.JSONField):
    """Whether a document is current: `label` says it in words, empty if it is.

    `day` is its last valid day if it is expired, its first if it is not yet valid. `successor` is
    the newest document that supersedes it, of those that you may read, or null.
    """

    def to_representation(self, value: Any) -> Any:
        """Of a document; the states of a list are read at once, if any may not be current."""
        request, context = self.context["request"], self.root.__dict__
        if "currencies" not in context:
            rows = getattr(self.root, "instance", None) or [value]
            rows = rows if isinstance(rows, list) else [value]
            dated = [each.pk for each in rows if each.may_be_dated]
            context["currencies"] = currency.currencies(dated, request.user)
        return currency.as_data(context["currencies"].get(value.pk), request.build_absolute_uri)


_DATE: dict[str, Any] = {
    "value": {"type": "string", "example": "2026-03"},
    "kind": {"type": "string", "enum": [kind.value for kind in DateKind]},
}


@extend_schema_field({"type": "object", "properties": _DATE, "nullable": True})
class DocumentDateField(serializers.JSONField):
    """A document's own date, or (`added`) the day of its upload. A day, month or year."""


class VersionSerializer(serializers.ModelSerializer[DocumentVersion]):
    """One uploaded file of a document, and its progress. `progress` is a share, 0 to 1.

    `kept`: the file is still stored, and the version can be made current again; `restored_from`
    is the number of the version whose file this one brought back.
    """

    kept = serializers.BooleanField(source="file", read_only=True)
    restored_from = serializers.IntegerField(
        source="restored_from.number", default=None, read_only=True, allow_null=True
    )
    error = ProblemField(source="*", read_only=True)
    warnings = serializers.ListField(child=serializers.CharField(), read_only=True)
    completeness = CompletenessField(read_only=True)

    class Meta:
        model = DocumentVersion
        fields = (
            "number", "state", "progress", "error", "file_name", "media_type", "size",
            "page_count", "chunk_count", "warnings", "completeness", "created", "finished", "kept",
            "restored_from",
        )  # fmt: skip
        read_only_fields = fields


class DocumentSerializer(serializers.ModelSerializer[Document]):
    """A document, with the state of its newest file.

    `searchable` says whether search finds a version of it: while a replacement is on its way,
    and after one has failed, that is the version before.
    """

    id = serializers.UUIDField(source="public_id", read_only=True)
    collection = serializers.SlugRelatedField[Collection](slug_field="slug", read_only=True)
    file_name = serializers.CharField(source="latest.file_name", read_only=True)
    media_type = serializers.CharField(source="latest.media_type", read_only=True)
    size = serializers.IntegerField(source="latest.size", read_only=True)
    checksum = serializers.CharField(
        source="content_hash", read_only=True, help_text="SHA-256 of its newest file."
    )
    state = serializers.ChoiceField(State.choices, source="latest.state", read_only=True)
    progress = serializers.FloatField(source="latest.progress", read_only=True)
    error = ProblemField(source="latest", read_only=True)
    searchable = serializers.SerializerMethodField()
    parent = serializers.UUIDField(  # type: ignore[assignment]
        source="parent.public_id",
        default=None,
        read_only=True,
        allow_null=True,
        help_text="The archive or message that contains this part.",
    )
    metadata = MetadataField(read_only=True)
    readers = serializers.SerializerMethodField(
        help_text="Null: all who may read its collection. For whoever added it, and users who may "
        "change documents."
    )
    completeness = CompletenessField(
        source="current.completeness", default=None, read_only=True, allow_null=True
    )
    currency = CurrencyField(source="*", read_only=True)
    owner = serializers.SerializerMethodField(
        help_text="The user name of who answers for it; null unless you may change documents."
    )
    parts = serializers.IntegerField(
        source="part_count", read_only=True, help_text="How many; list them with `?parent=`."
    )
    url = serializers.HyperlinkedIdentityField("search:document", lookup_field="public_id")
    original = serializers.HyperlinkedIdentityField(
        "api:document-original", lookup_field="public_id"
    )

    class Meta:
        model = Document
        fields: tuple[str, ...] = (
            "id", "title", "collection", "language", "file_name", "media_type", "size",
            "checksum", "state", "progress", "error", "searchable", "parent", "part_path", "parts",
            "created", "updated", "deleted_at", "url", "original", "metadata", "completeness",
            "readers", "currency", "valid_from", "valid_until", "review_by", "reviewed", "owner",
        )  # fmt: skip
        read_only_fields: tuple[str, ...] = fields

    @extend_schema_field(ReadersSerializer(allow_null=True))
    def get_readers(self, document: Document) -> dict[str, list[str]] | None:
        return shown_readers(document, self.context["request"].user)

    @extend_schema_field({"type": "string", "nullable": True})
    def get_owner(self, document: Document) -> str | None:
        may_know = self.context["request"].user.has_perm("ingestion.change_document")
        return document.owner.get_username() if document.owner and may_know else None

    @extend_schema_field(OpenApiTypes.BOOL)
    def get_searchable(self, document: Document) -> bool:
        return document.current_id is not None


class DocumentDetailSerializer(DocumentSerializer):
    """A document with all its versions, newest first."""

    versions = VersionSerializer(many=True, read_only=True)
    supersedes = serializers.SerializerMethodField(
        help_text="The ids of the documents that it supersedes, of those that you may read."
    )

    class Meta(DocumentSerializer.Meta):
        fields = (*DocumentSerializer.Meta.fields, "versions", "supersedes")
        read_only_fields = fields

    @extend_schema_field({"type": "array", "items": {"type": "string", "format": "uuid"}})
    def get_supersedes(self, document: Document) -> list[str]:
        readable = Document.objects.visible_to(self.context["request"].user)
        older = readable.filter(superseded_by=document.pk).order_by("pk")
        return [str(each) for each in older.values_list("public_id", flat=True)]


class ReceiptSerializer(DocumentSerializer):
    """The document of an upload. `duplicate`: the collection already contains the same file, and
    nothing was stored; `ignored` has the fields of the form that the document did not take, which
    a PATCH can set. `outcome` says more: `added`, `replaced` (a new version), `unchanged` (this
    document has just this file), or `duplicate` (this other document has it).
    """

    duplicate = serializers.BooleanField(read_only=True)
    ignored = serializers.ListField(child=serializers.CharField(), read_only=True)
    outcome = serializers.ChoiceField(choices=OUTCOMES, read_only=True)

    class Meta(DocumentSerializer.Meta):
        fields = (*DocumentSerializer.Meta.fields, "duplicate", "ignored", "outcome")
        read_only_fields = fields


READERS_HELP = (
    "JSON, or the fields readers.groups and readers.people of the form. The file is at no time "
    "open to others. Omitted: a new document is for all readers of its collection, another one "
    "keeps its own."
)


class FileUploadSerializer(Strict, serializers.Serializer[Any]):
    """A file. An empty one is refused by the upload service, which says what to do."""

    file = FileField(allow_empty_file=True)
    metadata = MetadataField(
        required=False, help_text="Replaces the document's metadata; omitted: unchanged."
    )
    readers = ReadersSerializer(required=False, help_text=READERS_HELP)


class NameFields(serializers.Serializer[Any]):
    """What a document is called, and its language."""

    title = serializers.CharField(
        required=False, allow_blank=True, max_length=500, help_text="Empty: taken from the file."
    )
    language = LanguageField(
        required=False, allow_blank=True, max_length=35, help_text="Empty: detected."
    )


class CurrencyFields(serializers.Serializer[Any]):
    """What is stated of a document's currency; omitted fields are unchanged."""

    valid_from = serializers.DateField(required=False, allow_null=True)
    valid_until = serializers.DateField(required=False, allow_null=True)
    review_by = serializers.DateField(required=False, allow_null=True)
    owner = serializers.SlugRelatedField[User](
        slug_field="username",
        queryset=User.objects.filter(is_active=True),
        required=False,
        allow_null=True,
    )
    supersedes = serializers.ListField(
        child=serializers.UUIDField(),
        required=False,
        help_text="The ids of all documents whose place it takes. Needs the right to change "
        "documents.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        start, end = attrs.get("valid_from"), attrs.get("valid_until")
        if start and end and end < start:
            raise serializers.ValidationError({"valid_until": ["It is before valid_from."]})
        return attrs

    def validate_supersedes(self, value: list[Any]) -> list[Document]:
        user = self.context["request"].user
        may = user.has_perm("ingestion.change_document")
        readable = Document.objects.visible_to(user) if may else Document.objects.none()
        documents = {row.public_id: row for row in readable.filter(public_id__in=value)}
        if missing := [str(each) for each in value if each not in documents]:
            raise serializers.ValidationError(
                f"There is no document {', '.join(missing)} that you may change."
            )
        return list(documents.values())


class DocumentUploadSerializer(CurrencyFields, NameFields, FileUploadSerializer):
    """A file for a collection that the user may read."""

    collection = CollectionField(help_text="The collection's slug.")


class DocumentChangeSerializer(Strict, CurrencyFields, NameFields):
    """The changes to a document; omitted fields are unchanged."""

    deleted = RestoreField(required=False, help_text=RESTORES)
    state = ChoiceField([State.QUEUED.value], required=False, help_text="Processes it again.")
    version = serializers.IntegerField(
        **NUMBER, help_text="Of one that is kept: its file becomes the next version."
    )
    metadata = MetadataField(required=False, help_text="Replaces all of its metadata.")
    collection = CollectionField(
        required=False, help_text="The slug of a collection: moves the document there."
    )
    readers = ReadersSerializer(
        required=False, allow_null=True, help_text="Null: all readers of its collection again."
    )


def sees_groups(request: Request) -> bool:
    """Whether the user may see who a collection is for, as in the admin."""
    verbs = ("view", "add", "change")
    return any(request.user.has_perm(f"ingestion.{verb}_collection") for verb in verbs)


@extend_schema_field({"type": "array", "items": {"type": "string"}, "nullable": True})
class GroupNamesField(serializers.ManyRelatedField):
    """Groups by their names."""

    def __init__(self, **options: Any) -> None:
        names = serializers.SlugRelatedField(slug_field="name", queryset=Group.objects.all())
        super().__init__(child_relation=names, **options)


class CollectionSerializer(CleanSerializer[Collection]):
    """A collection with the number of documents in it, and of those that search can find.

    `groups` are names, and shown to users who may see collections in the admin; null to others. A
    changed language or chunking reaches documents when they are processed again.
    """

    slug = serializers.SlugField(required=False, max_length=120, help_text="Made from the name.")
    groups = GroupNamesField(required=False)
    language = LanguageField(required=False, allow_blank=True, max_length=35)
    documents = serializers.IntegerField(source="document_count", read_only=True)
    searchable = serializers.IntegerField(source="searchable_count", read_only=True)
    deleted = RestoreField(required=False, write_only=True, help_text=RESTORES)

    class Meta:
        model = Collection
        fields = (
            "slug", "name", "icon", "description", "visibility", "groups", "language",
            "chunk_tokens", "overlap_tokens", "metadata_keys",
            "documents", "searchable", "created", "deleted", "deleted_at", "warnings",
        )  # fmt: skip
        read_only_fields = ("created", "deleted_at")
        validators: ClassVar[list[Any]] = []  # the model's own, see CleanSerializer

    def prepare(self, row: Collection) -> None:
        row.slug = row.slug or slugify(row.name)[:120]

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs = super().validate(attrs)
        if {"groups", "visibility"} & attrs.keys():
            stored = list(self.instance.groups.all()) if self.instance else []
            groups = attrs.get("groups", stored)
            # A collection keeps its groups for the day on which it is for groups again.
            is_changed = set(groups) != set(stored) or self.row.visibility == Visibility.GROUPS
            user = self.context["request"].user
            if is_changed and (problem := groups_problem(self.row.visibility, groups, user)):
                raise serializers.ValidationError({"groups": [problem]})
        return attrs

    def get_fields(self) -> dict[str, Any]:
        fields = super().get_fields()
        of_schema = getattr(self.context.get("view"), "swagger_fake_view", False)
        if not of_schema and not sees_groups(self.context["request"]):
            fields["groups"] = serializers.ReadOnlyField(source="no_groups", default=None)
        return fields


class ChunkEditSerializer(serializers.ModelSerializer[ChunkEdit]):
    """A hand edit. `chunk` is the number of the passage it is made on, from 0.

    `state` is `applied`, or `homeless` where the present version has no passage that is clearly
    its own: edit that passage instead, or delete it. `original` is the passage's text as parsed.
    """

    chunk = serializers.IntegerField(source="ordinal", read_only=True)
    state = serializers.ChoiceField(choices=[state.value for state in ChunkEdit.State])

    class Meta:
        model = ChunkEdit
        fields = (
            "id", "chunk", "state", "reason", "text", "disabled", "questions", "note", "original",
            "created", "updated",
        )  # fmt: skip
        read_only_fields = fields


class ChunkSerializer(serializers.ModelSerializer[Chunk]):
    """A passage of the version that is searched, with its edit. `chunk` counts from 0."""

    chunk = serializers.IntegerField(source="ordinal", read_only=True)
    edit = ChunkEditSerializer(read_only=True, allow_null=True)

    class Meta:
        model = Chunk
        fields = (
            "chunk", "text", "heading_path", "page", "kind", "tokens", "start", "end",
            "searchable", "edit",
        )  # fmt: skip
        read_only_fields = fields


class WishSerializer(Strict, serializers.Serializer[Any]):
    """The complete edit of a passage; omitted fields are as parsed."""

    text = serializers.CharField(
        required=False, allow_blank=True, max_length=100_000, help_text="Empty: unchanged."
    )
    disabled = BooleanField(required=False, help_text="Search does not find it.")
    questions = serializers.ListField(
        child=serializers.CharField(max_length=MAX_QUESTION_CHARS),
        required=False,
        help_text="Complete questions for which it ranks first.",
    )
    note = serializers.CharField(
        required=False, allow_blank=True, max_length=10_000, help_text="For members of staff."
    )
