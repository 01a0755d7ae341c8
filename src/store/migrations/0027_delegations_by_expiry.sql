-- Many delegations expire in the same moment: with the id, a page of the list is read in order.
drop index delegations_expires_at_index;

create index delegations_expires_at_index on delegations (expires_at, id);
