-- Codes that were not redeemed, which end with their client. Without it, stopping a client read the codes of all clients.
create index authorization_codes_pending_index on authorization_codes (client_id) where grant_id is null;
