-- Consents of a client in the order of their age. It serves the removal of a client's consents too.
create index consents_client_id_id_index on consents (client_id, id);

drop index consents_client_id_index;
