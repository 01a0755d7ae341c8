-- Users are listed by the time at which their account was made: the ids of imported ones do not have it.
create index users_created_index on users (created_at, id);

drop index users_realm_index;

create index users_realm_index on users (realm_id, created_at, id);

drop index users_role_index;

create index users_role_index on users (role, created_at, id);

drop index users_disabled_index;

create index users_disabled_index on users (created_at, id) where not enabled;

drop index users_unverified_index;

create index users_unverified_index on users (created_at, id) where not email_verified;
