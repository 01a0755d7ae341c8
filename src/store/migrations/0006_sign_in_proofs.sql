-- When and how the user of a session last proved who they are; the first time is the sign-in (auth_time).
alter table sessions add column proved_at timestamptz not null default now();

alter table sessions add column proved_acr text not null default 'urn:countersign:pwd';

alter table sessions add column amr text[] not null default '{pwd}';

update sessions set proved_at = auth_time;

-- How the user signed in, where the tokens of a code or grant say it.
alter table authorization_codes add column authentication jsonb;

alter table grants add column authentication jsonb;

-- The weakest sign-in that a realm accepts; null: any.
alter table realms add column required_acr text constraint realms_required_acr_check check (required_acr in ('urn:countersign:mfa', 'phr'));
