-- The key that refresh tokens and delegations are bound to (RFC 9449 §5, §6). The first migration had these columns when 0.1.0 was out
-- already, so that databases of 0.1.0 lack them.
alter table refresh_families add column if not exists cnf jsonb;

alter table delegations add column if not exists cnf jsonb;
