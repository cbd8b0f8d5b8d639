import django.core.validators
from django.conf import settings
from django.db import migrations, models

import search.answers.prompts

# The tables of answer profiles and the column of their names stay for one release: web servers of
# the version before use them during an upgrade. The rows of changes outlive their people, which
# Django no longer sees to.
KEPT = """
DO $$ DECLARE key record; BEGIN
    FOR key IN SELECT conname AS name, pg_get_constraintdef(oid) AS words FROM pg_constraint
               WHERE conrelid = 'answers_answerprofilechange'::regclass
                 AND confrelid = 'accounts_user'::regclass AND confdeltype = 'a'
    LOOP
        EXECUTE format(
            'ALTER TABLE answers_answerprofilechange DROP CONSTRAINT %I, ADD CONSTRAINT %I %s',
            key.name, key.name, replace(key.words, 'DEFERRABLE', 'ON DELETE SET NULL DEFERRABLE')
        );
    END LOOP;
END $$;
ALTER TABLE answers_answer ALTER profile_name SET DEFAULT '';
ALTER TABLE answers_answerprofile ALTER judge SET DEFAULT false;
"""
COLUMNS = """
default_mode, model, temperature, max_tokens, system_prompt, refusal, candidates,
context_tokens, min_passages, max_passages, expand, quotes, refuse_below, escalate_below,
max_searches, first_token_seconds, token_seconds, total_seconds
"""
# The settings are those of the active profile; whoever might publish may change them, and the
# changes by people are their history. On a new site there is nothing to carry over.
CARRIED_OVER = f"""
INSERT INTO answers_answersettings (id, {COLUMNS}, changed)
SELECT 1, {COLUMNS}, COALESCE(published, created)
FROM answers_answerprofile WHERE state = 'active';

WITH kind AS (
    INSERT INTO django_content_type (app_label, model)
    SELECT app_label, 'answersettings' FROM django_content_type
    WHERE app_label = 'answers' AND model = 'answerprofile'
    ON CONFLICT DO NOTHING  -- after a way back from this migration these rows are there
    RETURNING id
), permitted AS (
    INSERT INTO auth_permission (content_type_id, codename, name)
    SELECT id, action || '_answersettings', 'Can ' || action || ' answer settings'
    FROM kind, unnest(ARRAY['view', 'change']) action
    RETURNING id, codename
), pair AS (
    SELECT old.id AS old, permitted.id AS new FROM auth_permission old JOIN permitted
    ON (old.codename, permitted.codename) IN (
        ('view_answerprofile', 'view_answersettings'),
        ('publish_answerprofile', 'change_answersettings')
    )
), of_groups AS (
    INSERT INTO auth_group_permissions (group_id, permission_id)
    SELECT group_id, new FROM auth_group_permissions JOIN pair ON permission_id = old
), of_users AS (
    INSERT INTO accounts_user_user_permissions (user_id, permission_id)
    SELECT user_id, new FROM accounts_user_user_permissions JOIN pair ON permission_id = old
)
INSERT INTO django_admin_log
    (action_time, object_id, object_repr, action_flag, change_message, content_type_id, user_id)
SELECT c.at, '1', 'Answer settings', 2,
       concat_ws('; ', p.name || ' v' || p.version || ' ' || c.action, NULLIF(c.reason, ''),
                 NULLIF(array_to_string(c.changes, '; '), '')),
       kind.id, c.user_id
FROM kind, answers_answerprofilechange c JOIN answers_answerprofile p ON p.id = c.profile_id
WHERE c.user_id IS NOT NULL;
"""  # noqa: S608  # of the constants above


class Migration(migrations.Migration):
    dependencies = [
        ("answers", "0003_marks_alone"),
        ("admin", "0003_logentry_add_action_flag_choices"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='AnswerSettings',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('default_mode', models.CharField(choices=[('instant', 'Instant'), ('auto', 'Auto'), ('thinking', 'Thinking')], default='auto', help_text='The mode if the asker names none.', max_length=8)),
                ('model', models.CharField(blank=True, help_text='The language model; empty: ANSWER_MODEL of the settings.', max_length=120)),
                ('temperature', models.FloatField(default=0.2, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(2)])),
                ('max_tokens', models.PositiveIntegerField(default=1000, help_text='In tokens of the model.', validators=[django.core.validators.MinValueValidator(16), django.core.validators.MaxValueValidator(32000)], verbose_name='longest answer')),
                ('system_prompt', models.TextField(default='You answer questions from the passages of a document library, and from nothing else.\n\n- The passages are in the block $fence. Use only what they say. If they answer a part of the question, answer that part and say what they do not say. If they answer nothing of it, reply exactly: $refusal\n- End every sentence with the numbers of the passages that it is based on: [1] or [2][5]. Use only numbers of passages in the block.\n- Copy numbers, dates, names and identifiers exactly as the passages write them.\n- If passages contradict each other, say so, and cite both.\n- Answer in $language, in plain Markdown: no HTML, no images, no links, no headings.\n- Answer in the first sentence; then only what the reader needs to act on it. Write steps as a numbered list, and code as a fenced block, copied from the passage.\n- Today is $today.', validators=[search.answers.prompts.check_prompt])),
                ('refusal', models.TextField(default='The documents that you may read do not seem to answer this.', help_text='Shown when nothing that the asker may read seems to answer.', verbose_name='text of a refusal')),
                ('candidates', models.PositiveSmallIntegerField(default=20, help_text='Of the ranking, how many passages the context is chosen from.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100)])),
                ('context_tokens', models.PositiveIntegerField(default=5000, help_text='The most tokens of all passages together.', validators=[django.core.validators.MinValueValidator(100), django.core.validators.MaxValueValidator(200000)], verbose_name='context budget')),
                ('min_passages', models.PositiveSmallIntegerField(default=6, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(50)])),
                ('max_passages', models.PositiveSmallIntegerField(default=8, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(50)])),
                ('expand', models.BooleanField(default=True, help_text='While the budget lasts.', verbose_name='read the section around a passage')),
                ('quotes', models.PositiveSmallIntegerField(default=3, help_text='The most sentences that an answer without a model quotes.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(10)])),
                ('refuse_below', models.FloatField(default=0.2, help_text='Below this confidence that the results answer, the answer is the text of a refusal: no model writes. In auto and thinking mode it may first be asked for other searches.', validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1)])),
                ('escalate_below', models.FloatField(default=0.3, help_text='In auto mode with a model: below this confidence of the answer, try again.', validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1)])),
                ('max_searches', models.PositiveSmallIntegerField(default=4, help_text='In thinking mode: the most searches that a question is split into.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(10)])),
                ('first_token_seconds', models.FloatField(default=20.0, validators=[django.core.validators.MinValueValidator(0.1), django.core.validators.MaxValueValidator(600)], verbose_name='time to the first word')),
                ('token_seconds', models.FloatField(default=15.0, validators=[django.core.validators.MinValueValidator(0.1), django.core.validators.MaxValueValidator(600)], verbose_name='time between words')),
                ('total_seconds', models.FloatField(default=120.0, validators=[django.core.validators.MinValueValidator(0.1), django.core.validators.MaxValueValidator(600)], verbose_name='time in all')),
                ('changed', models.DateTimeField(auto_now=True)),
            ],
            options={
                'verbose_name_plural': 'answer settings',
                'default_permissions': ('change', 'view'),
                'constraints': [models.CheckConstraint(condition=models.Q(('pk', 1)), name='answer_settings_one_row'), models.CheckConstraint(condition=models.Q(('min_passages__lte', models.F('max_passages'))), name='answer_settings_passages_in_order', violation_error_message='The fewest passages must not be more than the most passages.')],
            },
        ),
        migrations.RunSQL(CARRIED_OVER, migrations.RunSQL.noop),
        migrations.RunSQL(KEPT, migrations.RunSQL.noop),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveField("answer", "profile_name"),
                migrations.DeleteModel("AnswerProfileChange"),
                migrations.DeleteModel("AnswerProfile"),
            ]
        ),
    ]
