-- Keys that an operator has withdrawn: they are published no more, and nothing that they signed is valid.
alter table signing_keys add column withdrawn_at timestamptz;
