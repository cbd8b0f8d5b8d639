"""The shipped pattern of codes with spaces takes their parts: EN 1092-2."""

from django.db import migrations

_START = (
    r"[A-Z]{2,6}[ \u00a0_-][0-9]{4}[ \u00a0_-][0-9]{3,6}|"
    r"[A-Z]{1,5}(?:[ \u00a0]|_)[0-9]{1,6}"
)
_END = r"(?![.,][0-9]|[ \u00a0]?[%\u00b0])"
_PARTS = r"(?:-[0-9]{1,4}){0,2}"
CHANGE = "UPDATE ingestion_identifierpattern SET regex = %s WHERE regex = %s"


class Migration(migrations.Migration):
    dependencies = [("ingestion", "0016_state_words")]
    operations = [
        migrations.RunSQL(
            [(CHANGE, [_START + _PARTS + _END, _START + _END])], migrations.RunSQL.noop
        )
    ]
