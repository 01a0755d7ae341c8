-- The session in which an authenticator app was begun; none of one that was begun before this column.
alter table authenticator_apps add column session_id uuid;
