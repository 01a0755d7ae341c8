-- Sign-ins by another provider that wait for a second factor: the identity and the provider's session.
alter table proof_challenges add column upstream jsonb;
