-- Under whose name the users of a realm are asked; what it leaves open is that of the deployment.
alter table realms add column branding jsonb;
