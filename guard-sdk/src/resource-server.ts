import { NUMBER, needed, TEXT } from "./option-table.ts";

/** How this resource server proves itself to the authorization server: a confidential client that stands for the resource. */
export interface ResourceServer {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** What the options of every way of asking have in common. */
export const ASKING = { clientId: needed(TEXT), clientSecret: needed(TEXT), timeoutSeconds: NUMBER };

/** The value of `Authorization` for HTTP and gRPC alike; both halves are form-encoded. @see RFC 6749 §2.3.1, RFC 7617 */
export function basicCredential({ clientId, clientSecret }: ResourceServer): string {
  return `Basic ${btoa(`${formEncoded(clientId)}:${formEncoded(clientSecret)}`)}`;
}

const formEncoded = (text: string) => new URLSearchParams([["", text]]).toString().slice(1);

/** @returns milliseconds  @throws {TypeError} unless it is a time that a request can wait */
export function checkedTimeout(seconds: number): number {
  if (!(seconds > 0 && seconds <= 60)) throw new TypeError(`timeoutSeconds must be above 0 and at most 60: ${seconds}`);
  return Math.ceil(seconds * 1000);
}
