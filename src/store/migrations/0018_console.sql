-- The client of the console. Its redirect URI follows from the issuer, so it is not in its record.
insert into clients (id, client_id, realm_id, origin, name, redirect_uris, scopes, grant_types, response_types, token_endpoint_auth_method)
  values ('00000000-0000-7000-8000-000000000004', 'countersign-console', '00000000-0000-7000-8000-000000000001', 'built_in',
          'Countersign console', '{}', '{openid,email,server:manage}', '{authorization_code}', '{code}', 'none');
