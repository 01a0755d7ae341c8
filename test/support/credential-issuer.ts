import type { RequestListener } from "node:http";
import { createHeaderAndPayload, StatusList } from "@sd-jwt/jwt-status-list";
import { type Publisher, publisher } from "./publisher.ts";
import { type CredentialOptions, issueCredential, nowSeconds, signedJwt, type WalletKey, walletKey } from "./wallet.ts";

export interface CredentialIssuer {
  /** Its issuer identifier (`iss`), an https URL on this machine. */
  readonly url: string;
  readonly key: WalletKey;
  readonly publisher: Publisher;
  /** Members that are added to its metadata, or replaced in it. */
  metadata: Readonly<Record<string, unknown>>;
  /** Status values by index; undefined makes the list unavailable. */
  statuses: number[] | undefined;
  /** The key that signs the status list. */
  statusKey: WalletKey;
  issue(options: Pick<CredentialOptions, "holder" | "claims" | "header"> & { readonly by?: WalletKey }): Promise<string>;
  close(): Promise<void>;
}

/** A credential issuer that publishes its keys in its metadata and the validity of its credentials in a status list. */
export async function credentialIssuer(path = ""): Promise<CredentialIssuer> {
  const server = await publisher();
  const key = walletKey("ES256", "issuer-1");
  const url = `https://localhost:${server.port}${path}`;
  const statusToken = (statuses: number[]): string => {
    const claims = { iss: url, sub: `${url}/statuses`, iat: nowSeconds(), exp: nowSeconds() + 600 };
    const { header, payload } = createHeaderAndPayload(
      new StatusList(statuses, 2),
      claims as never,
      { alg: "ES256", kid: "issuer-1" } as never,
    );
    return signedJwt(header, payload, issuer.statusKey);
  };
  const answer: RequestListener = (request, response) => {
    if (request.url === `/.well-known/jwt-vc-issuer${path}`) {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ issuer: url, jwks: { keys: [key.jwk] }, ...issuer.metadata }));
    } else if (request.url === "/keys") {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ keys: [key.jwk] }));
    } else if (request.url === `${path}/statuses` && issuer.statuses !== undefined) {
      response.writeHead(200, { "content-type": "application/statuslist+jwt" }).end(statusToken(issuer.statuses));
    } else response.writeHead(404).end();
  };
  server.serve(answer);
  const issuer: CredentialIssuer = {
    url,
    key,
    publisher: server,
    metadata: {},
    statuses: undefined,
    statusKey: key,
    issue: ({ by = key, header = {}, ...options }) =>
      issueCredential({ issuer: url, by, header: { kid: "issuer-1", ...header }, ...options }),
    close: server.close,
  };
  return issuer;
}
