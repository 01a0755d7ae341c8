-- An invitation works only while the one who sent it is an operator. Those of earlier releases have none, and expire within 30 days.
alter table invitations add column inviter_id uuid constraint invitations_inviter_id_foreign references users (id) on delete cascade;

create index invitations_inviter_id_index on invitations (inviter_id);
