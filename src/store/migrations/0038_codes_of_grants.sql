-- A redeemed code is kept for a day, to know it again; whether its grant is still there changes nothing about it. So its grant needs neither a foreign
-- key nor an index, which were written at each redemption.
alter table authorization_codes drop constraint authorization_codes_grant_id_foreign;

drop index authorization_codes_grant_id_index;
