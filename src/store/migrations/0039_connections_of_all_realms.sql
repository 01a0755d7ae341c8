-- The list of connections is that of all realms where none is named.
create index connections_all_name_index on connections (name collate "C", id);
