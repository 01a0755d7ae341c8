import { sameResource } from "../../protocol/access.ts";
import { FORWARDED_IGNORED } from "../../telemetry/metric-names.ts";
import { type CheckResult, type Finding, fault, findingsAbout, ok, type Report, reportOf, shown, warning } from "./finding.ts";
import { type ResourceObservations, resourceFindings, metadataOf as resourceMetadata, scopesOf, tokenChallenge } from "./resource.ts";
import { hostFindings, metadataOf, type ServerObservations, serverFindings } from "./server.ts";
import { type Answer, isObject, mayFollow, stringsOf, type Web, wellKnown } from "./web.ts";

const MCP = "application/json, text/event-stream";
/** Begins an MCP session, for servers that answer a GET before they ask for a token. */
const INITIALIZE = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "countersign-doctor", version: "1" } },
});
/** Statuses of a GET after which a POST may still be refused for want of a token. */
const NOT_FOR_GET = [400, 405, 406];
/** A resource with more authorization servers is checked up to here. */
const MOST_SERVERS = 3;
/** No JSON: it shows whether registration is open, and no server can register a client by it. */
const NO_REGISTRATION = "{";

/**
 * Recognizes what answers at a URL, and follows the chain from there.
 * @param clock in seconds
 * @param known an authorization server that is not asked
 */
export async function examine(url: string, web: Web, clock: () => number, known?: string): Promise<Report> {
  const [resource, metadata] = await Promise.all([observeResource(url, web), observeMetadata(url, web)]);
  const named = metadataOf(metadata)?.issuer;
  // With or without the root path, as its metadata writes it.
  const issuer = typeof named === "string" && sameResource(named, url) ? named : url;
  const isResource = resource.challenge !== undefined || resourceMetadata(resource) !== undefined;
  if (named !== undefined && (resource.challenge === undefined || named === issuer))
    return reportOf(url, "authorization-server", await examineServer(url, issuer, [], web, clock));
  if (isResource) return reportOf(url, "protected-resource", await examineResource(url, resource, web, clock, known));
  const health = await web.get(`${url}/health`);
  if (isCountersign(health)) return reportOf(url, "authorization-server", await examineServer(url, url, [], web, clock));
  return reportOf(url, "unknown", findingsAbout(shown(url), [neither(url, resource)]));
}

function neither(url: string, { answer }: ObservedResource): CheckResult {
  if (answer.status === undefined) return fault("recognized", `nothing answers at ${shown(url)}: ${answer.problem}`, "check the URL");
  if (answer.status >= 300 && answer.status < 400)
    return fault("recognized", `answers with ${answer.problem}`, "run doctor on the URL that it redirects to, and use it in clients");
  const sentence = `is neither an authorization server nor a protected resource: it answers ${answer.status} without a token, and serves no metadata of either`;
  return fault(
    "recognized",
    sentence,
    "a resource answers 401 with a Bearer challenge (RFC 9728 §5); an authorization server serves RFC 8414 metadata",
  );
}

/** The observations of a resource, with the response to the request without a token. */
type ObservedResource = ResourceObservations & { readonly answer: Answer };

async function observeResource(url: string, web: Web): Promise<ObservedResource> {
  const at = (withPath: boolean) => web.get(wellKnown(url, "oauth-protected-resource", withPath));
  const hasPath = wellKnown(url, "oauth-protected-resource") !== wellKnown(url, "oauth-protected-resource", false);
  const [answer, withPath, atRoot] = await Promise.all([unauthenticated(url, web), at(true), hasPath ? at(false) : undefined]);
  const challenge = answer.status === 401 ? tokenChallenge(answer.headers.get("www-authenticate")) : undefined;
  const address = challenge?.resourceMetadata;
  const named = address !== undefined && mayFollow(url, address) ? await web.get(address) : undefined;
  return { url, status: answer.status, challenge, named, withPath, atRoot: atRoot ?? withPath, answer };
}

async function unauthenticated(url: string, web: Web): Promise<Answer> {
  const answer = await web.get(url, MCP);
  if (!NOT_FOR_GET.includes(answer.status ?? 0)) return answer;
  const posted = await web.post(url, INITIALIZE, MCP);
  return posted.status === undefined ? answer : posted;
}

async function examineResource(
  url: string,
  resource: ResourceObservations,
  web: Web,
  clock: () => number,
  known: string | undefined,
): Promise<readonly Finding[]> {
  const isAsked = (issuer: string) => mayFollow(url, issuer) && (known === undefined || !sameResource(issuer, known));
  const issuers = (stringsOf(resourceMetadata(resource)?.body?.authorization_servers) ?? []).filter(isAsked);
  const wanted = scopesOf(resource);
  const servers = await Promise.all(issuers.slice(0, MOST_SERVERS).map((issuer) => examineServer(url, issuer, wanted, web, clock)));
  return [...resourceFindings(resource), ...servers.flat()];
}

async function observeMetadata(issuer: string, web: Web): Promise<Pick<ServerObservations, "oauth" | "openid">> {
  const base = issuer.replace(/\/$/, "");
  const inserted = wellKnown(issuer, "openid-configuration");
  const appended = `${base}/.well-known/openid-configuration`;
  const [oauth, ...openid] = await Promise.all([
    web.get(wellKnown(issuer, "oauth-authorization-server")),
    ...[...new Set([inserted, appended])].map((url) => web.get(url)),
  ]);
  return { oauth, openid };
}

/** @param from the URL that named this issuer */
async function examineServer(
  from: string,
  issuer: string,
  wanted: readonly string[],
  web: Web,
  clock: () => number,
): Promise<readonly Finding[]> {
  const base = issuer.replace(/\/$/, "");
  const [documents, health] = await Promise.all([observeMetadata(issuer, web), web.get(`${base}/health`)]);
  const received = clock();
  const metadata = metadataOf(documents);
  const usable = (value: unknown): string | undefined => (typeof value === "string" && mayFollow(from, value) ? value : undefined);
  const [jwksUri, registrationEndpoint] = [usable(metadata?.jwks_uri), usable(metadata?.registration_endpoint)];
  const [keys, registration] = await Promise.all([
    jwksUri === undefined ? undefined : web.get(jwksUri),
    registrationEndpoint === undefined ? undefined : web.post(registrationEndpoint, NO_REGISTRATION),
  ]);
  const countersign = isCountersign(health);
  const observations: ServerObservations = { issuer, ...documents, keys, registration, countersign };
  return [
    ...(countersign ? countersignFindings(await observeCountersign(base, health, received, web)) : []),
    ...serverFindings(observations, wanted),
    ...hostFindings(observations),
  ];
}

/** What only a Countersign shows about itself. */
export interface CountersignObservations {
  readonly url: string;
  readonly health: Answer;
  /** Requests whose proxy headers were ignored; undefined if the metrics cannot be read. */
  readonly forwardedIgnored: number | undefined;
  /** Seconds by which the server's clock is ahead of this machine's. */
  readonly clockAhead: number | undefined;
}

const NOTEWORTHY_SECONDS = 5;

const isCountersign = ({ body }: Answer): boolean =>
  isObject(body?.services) && ["database", "redis", "core"].every((service) => service in (body.services as object));

/** Problems of a Countersign that its metadata does not show. Pure. */
export function countersignFindings({ url, health, forwardedIgnored, clockAhead }: CountersignObservations): readonly Finding[] {
  const status = health.body?.status;
  const found = [
    health.status === 200
      ? ok("health", "is healthy")
      : fault("health", `its health is ${shown(status)}`, "see which of its services is disconnected, and its log"),
  ];
  if (status === "degraded") found.push(warning("redis", "Redis does not answer: each process counts rates on its own", "see REDIS_URL"));
  if (forwardedIgnored !== undefined)
    found.push(
      forwardedIgnored === 0
        ? ok("proxy", "no request has headers of an untrusted proxy")
        : warning(
            "proxy",
            "requests arrive through a proxy, but TRUST_PROXY is off: limits and audit records see the proxy's address for every caller",
            "set TRUST_PROXY=true if the proxy sets X-Forwarded-For itself",
          ),
    );
  if (clockAhead !== undefined) {
    const apart = `its clock is ${Math.abs(Math.round(clockAhead))} seconds ${clockAhead > 0 ? "ahead of" : "behind"} this machine's`;
    found.push(
      Math.abs(clockAhead) <= NOTEWORTHY_SECONDS
        ? ok("clock", "its clock agrees with this machine's")
        : warning("clock", apart, "synchronize both clocks (NTP)"),
    );
  }
  return findingsAbout(`Countersign at ${shown(url)}`, found);
}

/** @param health the response of `/health`, received `now` (seconds) */
async function observeCountersign(url: string, health: Answer, now: number, web: Web): Promise<CountersignObservations> {
  const date = Date.parse(health.headers.get("date") ?? "");
  const { status, text = "" } = await web.get(`${url}/metrics`, "*/*");
  const ignored = status === 200 ? new RegExp(`^${FORWARDED_IGNORED} (\\d+)$`, "m").exec(text)?.[1] : undefined;
  return {
    url,
    health,
    clockAhead: Number.isNaN(date) ? undefined : date / 1000 - now,
    forwardedIgnored: ignored === undefined ? undefined : Number(ignored),
  };
}
