-- The thumbprint of the key that a device proved with its request: only this key redeems the device code (RFC 9449 §5, RFC 8628).
alter table device_requests add column dpop_jkt text;
