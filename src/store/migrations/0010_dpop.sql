-- The thumbprint of the key that a code is bound to (RFC 9449 §10), and clients whose tokens must be bound to a key (§5.2).
alter table authorization_codes add column dpop_jkt text;

alter table clients add column dpop_bound_access_tokens boolean not null default false;
