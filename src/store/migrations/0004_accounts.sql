-- Accounts for a company: the role of users who make no clients.
alter table users drop constraint users_role_check;

alter table users add constraint users_role_check check (role in ('user', 'developer', 'operator'));
