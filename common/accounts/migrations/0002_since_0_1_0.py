import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [('accounts', '0002_token_grants'), ('accounts', '0003_people'), ('accounts', '0004_downloads')]

    dependencies = [
        ('accounts', '0001_initial'),
        ('knox', '0009_extend_authtoken_field'),
        ('socialaccount', '0006_alter_socialaccount_extra_data'),
    ]

    operations = [
        migrations.CreateModel(
            name='TokenGrant',
            fields=[
                ('token', models.OneToOneField(editable=False, on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='grant', serialize=False, to='knox.authtoken')),
                ('name', models.CharField(blank=True, max_length=80)),
                ('scopes', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('read', 'Read: search, ask, read documents'), ('upload', 'Upload: add, change and delete documents'), ('tune', 'Tune: weights, golden queries, pins, synonyms, analytics'), ('administer', 'Administer: collections, embedding spaces, your tokens')], max_length=12), size=None)),
                ('collections', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), help_text='Empty: all that the user may read.', null=True, size=None)),
                ('last_used', models.DateTimeField(editable=False, null=True)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('collections', None), ('scopes__contained_by', ['read', 'upload']), _connector='OR'), name='token_limit_fits_scopes')],
            },
        ),
        migrations.CreateModel(
            name='SignOn',
            fields=[
                ('account', models.OneToOneField(editable=False, on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='sign_on', serialize=False, to='socialaccount.socialaccount')),
                ('refresh_token', models.TextField(blank=True)),
                ('confirmed_at', models.DateTimeField(db_index=True)),
                ('withdrawn', models.BooleanField(default=False)),
            ],
        ),
        migrations.CreateModel(
            name='Usage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('token', models.CharField(blank=True, max_length=128)),
                ('day', models.DateField(db_index=True)),
                ('searches', models.PositiveIntegerField(default=0)),
                ('answers', models.PositiveIntegerField(default=0)),
                ('uploads', models.PositiveIntegerField(default=0)),
                ('bytes', models.PositiveBigIntegerField(default=0)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('downloaded', models.PositiveBigIntegerField(db_default=0, default=0)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('user', 'token', 'day'), name='one_usage_a_day')],
            },
        ),
    ]
