import { Refusal } from "../errors.ts";
import type { Client } from "./client.ts";
import type { ClientDirectory, ClientDocuments } from "./ports.ts";

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

/** The registered ones of these client_ids. */
export async function clientsAmong(clientIds: readonly string[], { byClientId }: ClientDirectory): Promise<ReadonlyMap<string, Client>> {
  const clients = new Map<string, Client>();
  for (const client of await Promise.all([...new Set(clientIds)].map(byClientId)))
    if (client !== undefined) clients.set(client.clientId, client);
  return clients;
}

/** `documents` is undefined while CIMD_ENABLED is false. */
export type ClientSources = { readonly clients: ClientDirectory; readonly documents: ClientDocuments | undefined };

/**
 * Finds a client: the registered one, even if disabled, else the one whose metadata document is at the client_id.
 * @param address of the caller, whose fetches are counted
 * @throws {Refusal} invalid_client, too_many_requests @see docs/protocol.md#client-resolution
 */
export async function resolveClient(clientId: string, address: string, { clients, documents }: ClientSources): Promise<Client | undefined> {
  const registered = await clients.byClientId(clientId);
  if (registered !== undefined || documents === undefined || !namesDocument(clientId)) return registered;
  return documents.byUrl(clientId, address);
}
