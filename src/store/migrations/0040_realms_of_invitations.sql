-- The realm in which an invitation opens the account; null: the default one. What no longer works goes with its realm.
alter table invitations add column realm_id uuid constraint invitations_realm_id_foreign references realms (id) on delete cascade;

create index invitations_realm_id_index on invitations (realm_id);
