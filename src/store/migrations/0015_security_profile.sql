-- Which set of demands an operator makes of a client.
alter table clients add column security_profile text;

alter table clients add constraint clients_security_profile_check check (security_profile = any (array['fapi2'::text]));
