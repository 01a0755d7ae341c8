import { Refusal } from "../errors.ts";

/** An id that begins so names a metadata document; generated ids never do. */
export const namesDocument = (clientId: string): boolean => clientId.startsWith("https://");

const MAX_LENGTH = 512;
/** Printable ASCII that may stand in an URI (RFC 3986 §2), without what begins a query or a fragment. */
const SHAPE = /^https:\/\/[A-Za-z0-9\-._~!$&'()*+,;=%:[\]]+\/[A-Za-z0-9\-._~/@:!$&'()*+,;=%]+$/;
const DOT_SEGMENT = /\/(?:\.|%2e){1,2}(?:\/|$)/i;

/**
 * Whether a client_id is an URL under which a metadata document may stand. Judged as text, before anything is asked: nothing is
 * normalised, so `:443` and its absence are two clients.
 * @throws {Refusal} invalid_client
 * @see draft-ietf-oauth-client-id-metadata-document §3
 */
export function assertDocumentUrl(clientId: string): void {
  const fault = faultOf(clientId);
  if (fault !== undefined)
    throw new Refusal("invalid_client", fault, { description: "client_id is no URL that a client metadata document may have" });
}

function faultOf(clientId: string): string | undefined {
  if (!namesDocument(clientId)) return "document_url_not_https";
  if (clientId.length > MAX_LENGTH) return "document_url_too_long";
  if (clientId.includes("#")) return "document_url_with_fragment";
  if (clientId.includes("?")) return "document_url_with_query";
  const [authority = ""] = clientId.slice("https://".length).split("/", 1);
  if (authority.includes("@")) return "document_url_with_userinfo";
  if (clientId.slice("https://".length + authority.length).length < 2) return "document_url_without_path";
  if (!SHAPE.test(clientId) || URL.parse(clientId) === null) return "document_url_malformed";
  return DOT_SEGMENT.test(clientId) ? "document_url_with_dot_segment" : undefined;
}

/** Host and, where it is not the usual one, port: what the fetch has proven of the client. */
export const documentHost = (clientId: string): string => URL.parse(clientId)?.host ?? "";
