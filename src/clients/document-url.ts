import { Refusal } from "../errors.ts";

/** Whether a client_id is the URL of a metadata document. Generated ids never are. */
export const namesDocument = (clientId: string): boolean => clientId.startsWith("https://");

const MAX_LENGTH = 512;
/** Printable ASCII of a URI (RFC 3986 §2) without query and fragment. */
const SHAPE = /^https:\/\/[A-Za-z0-9\-._~!$&'()*+,;=%:[\]]+\/[A-Za-z0-9\-._~/@:!$&'()*+,;=%]+$/;
const DOT_SEGMENT = /\/(?:\.|%2e){1,2}(?:\/|$)/i;

/**
 * Checks that a client_id may be the URL of a metadata document. Nothing is normalized: with and without `:443` are two clients.
 * @throws {Refusal} invalid_client @see draft-ietf-oauth-client-id-metadata-document §3
 */
export function assertDocumentUrl(clientId: string): void {
  const fault = faultOf(clientId);
  if (fault !== undefined)
    throw new Refusal("invalid_client", fault, {
      description: `client_id is not a valid URL of a client metadata document: ${fault.replace("document_url_", "").replaceAll("_", " ")}.`,
    });
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

/** Host and non-default port: the part of the client_id that the fetch has verified. */
export const documentHost = (clientId: string): string => URL.parse(clientId)?.host ?? "";
