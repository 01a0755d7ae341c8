import { BASE, ISSUER, patience } from "../environment.ts";

/** The authorization code flow with PKCE, as a public or a confidential client. */
export interface FlowClient {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly scope: string;
  /** Undefined: tokens for the client itself. */
  readonly resource?: string | undefined;
  /** For clients with a secret. */
  readonly secret?: string | undefined;
  /** Whether its requests must be pushed first (RFC 9126). */
  readonly pushed?: boolean | undefined;
}

/** What proves that an answer is for a request that was sent. */
export interface Proof {
  readonly state: string;
  readonly verifier: string;
}

/** How a request differs: `prompt`, `max_age`, `acr_values`. */
export type Demand = Readonly<Record<string, string>>;

/** The answer of the token endpoint. */
export interface TokenAnswer {
  readonly access_token: string;
  /** Where the scope has `openid`. */
  readonly id_token?: string;
  readonly expires_in: number;
  readonly [member: string]: unknown;
}

const base64url = (bytes: Uint8Array): string => bytes.toBase64({ alphabet: "base64url", omitPadding: true });
const random = (): string => base64url(crypto.getRandomValues(new Uint8Array(32)));
const challengeOf = async (verifier: string): Promise<string> =>
  base64url(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier))));

/** A new authorization request, and where to send the browser with it. */
export async function newRequest(
  client: FlowClient,
  demand: Demand,
  prefix = "",
): Promise<{ readonly proof: Proof; readonly url: string }> {
  const proof = { state: prefix + random(), verifier: random() };
  const request = new URLSearchParams({
    response_type: "code",
    client_id: client.clientId,
    redirect_uri: client.redirectUri,
    scope: client.scope,
    ...(client.resource !== undefined && { resource: client.resource }),
    state: proof.state,
    code_challenge: await challengeOf(proof.verifier),
    code_challenge_method: "S256",
    ...demand,
  });
  const query = client.pushed ? await pushed(request, client) : request;
  return { proof, url: `${BASE}/oauth/authorize?${query}` };
}

/** @see RFC 9126 */
async function pushed(request: URLSearchParams, { clientId, secret }: FlowClient): Promise<URLSearchParams> {
  if (secret !== undefined) request.set("client_secret", secret);
  const { request_uri } = await posted<{ readonly request_uri: string }>("/oauth/par", request);
  return new URLSearchParams({ client_id: clientId, request_uri });
}

/** Why there is no token, as the server states it. */
export class FlowError extends Error {
  /** Whether the same may work later. */
  readonly isTransient: boolean;

  constructor(error: string | null | undefined, description?: string | null) {
    super([error, description].filter(Boolean).join(": "));
    this.isTransient = error === "temporarily_unavailable" || error === "server_error";
  }
}

/** @throws {FlowError} for an answer that is an error */
async function posted<Answer>(path: string, body: URLSearchParams): Promise<Answer> {
  const response = await fetch(BASE + path, { method: "POST", body, credentials: "omit", signal: patience() });
  const json = (await response.json()) as Answer & { readonly error?: string; readonly error_description?: string };
  if (!response.ok) throw new FlowError(json.error, json.error_description);
  return json;
}

/** @throws {FlowError} if the answer is an error, or belongs to another request */
export async function redeem(answer: URLSearchParams, client: FlowClient, { state, verifier }: Proof): Promise<TokenAnswer> {
  const code = answer.get("code");
  if (answer.get("state") !== state || answer.get("iss") !== ISSUER) throw new FlowError("state");
  if (code === null) throw new FlowError(answer.get("error"), answer.get("error_description"));
  const body = new URLSearchParams({
    grant_type: "authorization_code",
    client_id: client.clientId,
    redirect_uri: client.redirectUri,
    code,
    code_verifier: verifier,
    ...(client.secret !== undefined && { client_secret: client.secret }),
  });
  return posted("/oauth/token", body);
}

/** The channel on which a window that was opened for a flow leaves its answer. Only this origin can read it. */
export const CHANNEL = "countersign-sign-in";
/** Begins the state of a flow in such a window: its name and its opener are lost on the way through pages that isolate themselves. */
const POPUP = "popup.";

export const isForPopup = (answer: URLSearchParams): boolean => answer.get("state")?.startsWith(POPUP) ?? false;

/** Opens a window; has to be called in the handler of a click, so that browsers do not block it. */
export const openPopup = (): Window | null => window.open("about:blank", "_blank", "popup,width=520,height=760");

/**
 * Sends a window through a flow. @param signal aborted when the user gives up: whether the window is still open cannot be seen from here
 * @returns the answer of the server; undefined after an abort
 */
export async function answerInPopup(popup: Window, client: FlowClient, demand: Demand, signal: AbortSignal) {
  const channel = new BroadcastChannel(CHANNEL);
  try {
    const { proof, url } = await newRequest(client, demand, POPUP).catch((error: unknown) => {
      popup.close();
      throw error;
    });
    if (signal.aborted) return void popup.close();
    popup.location.assign(url);
    const answer = await arrival(proof, channel, signal);
    return answer && { answer, proof };
  } finally {
    channel.close();
  }
}

const arrival = ({ state }: Proof, channel: BroadcastChannel, signal: AbortSignal): Promise<URLSearchParams | undefined> =>
  new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(undefined));
    channel.onmessage = ({ data }: MessageEvent<string>) => {
      const answer = new URLSearchParams(data);
      if (answer.get("state") === state) resolve(answer);
    };
  });
