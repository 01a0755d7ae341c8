#!/usr/bin/env bash
# Makes the secrets that docker-compose.yml mounts, once: what is there is left alone.
set -euo pipefail
umask 077
directory="$(dirname "$0")/secrets"
mkdir -p "$directory"
cd "$directory"

random() { openssl rand -hex 32; }
[ -s postgres_password ] || random >postgres_password
[ -s database_url ] || printf 'postgres://countersign:%s@postgres:5432/countersign\n' "$(cat postgres_password)" >database_url
[ -s token_core_secret ] || random >token_core_secret
[ -s jwt_private_key ] || openssl genpkey -algorithm ed25519 -out jwt_private_key
[ -s vault_key ] || openssl rand -base64 32 >vault_key

# Compose mounts these files as they are. The directory keeps other people of this machine out; the users inside the containers must read them.
chmod 444 postgres_password database_url token_core_secret jwt_private_key vault_key
echo "deploy/secrets is complete"
