from django.db import migrations, models

# Until now the profiles of our classifier followed the question's language if their classes differ.
KEEP_THE_LEAN = """
UPDATE search_searchprofile profile SET language_lean = true
WHERE classifier = 'rules' AND (
    SELECT count(DISTINCT (vector, keyword, title, recency, synonym, concept, wordnet, added::text))
    FROM search_classweights weights WHERE weights.profile_id = profile.id
) > 1
"""


class Migration(migrations.Migration):

    dependencies = [
        ("search", "0006_folded_words"),
    ]

    operations = [
        migrations.AddField(
            model_name="searchprofile",
            name="language_lean",
            field=models.BooleanField(default=False, help_text="Keywords count for more in languages that the embedding model does not know; passages in another language than the question are ranked by meaning alone.", verbose_name="lean by language"),
        ),
        migrations.RunSQL(KEEP_THE_LEAN, migrations.RunSQL.noop),
    ]
