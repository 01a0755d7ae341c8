import type { DocumentVersions } from "../clients/ports.ts";
import type { DocumentHistory, DocumentVersion } from "../management/record-ports.ts";
import { isStorable, statement, type Tx } from "./sql.ts";
import { CLIENT_DOCUMENTS } from "./tables/clients.ts";

/** Documents that are kept of one client. */
export const KEPT_VERSIONS = 20;

// Of two processes that store at once the primary key lets one through; the other one's document is stored when it is fetched again.
const STORE = statement(
  "client_document_store",
  `with latest as (select version, digest from client_documents where client_id = $1 order by version desc limit 1),
   seen as (
     update client_documents set seen_at = now() from latest
     where client_documents.client_id = $1 and client_documents.version = latest.version and latest.digest = sha256(convert_to($2, 'UTF8')) returning 1),
   added as (
     insert into client_documents (client_id, version, digest, document)
     select $1, coalesce((select version from latest), 0) + 1, sha256(convert_to($2, 'UTF8')), $2
     where not exists (select from latest where digest = sha256(convert_to($2, 'UTF8')))
       and (exists (select from latest) or exists (select from consents where client_id = $1))
     on conflict do nothing returning version),
   dropped as (
     delete from client_documents where client_id = $1 and version <= (select version from added) - ${KEPT_VERSIONS})
   select exists (select from seen) or exists (select from added) as stored`,
);

const OF = statement(
  "client_documents_of",
  `select ${CLIENT_DOCUMENTS.select(["version", "document", "createdAt", "seenAt"])}, encode(digest, 'hex') as digest, octet_length(document) as size
   from client_documents where client_id = $1 order by version desc`,
);

export const documentVersions = (sql: Tx): DocumentVersions => ({
  store: async (url, document) => {
    if (!isStorable(document)) return false;
    const [row] = await sql.query<{ stored: boolean }>(STORE, [url, document]);
    return row?.stored === true;
  },
});

export const documentHistory = (sql: Tx): DocumentHistory => ({
  of: async (clientId) => (isStorable(clientId) ? sql.query<DocumentVersion>(OF, [clientId]) : []),
});
