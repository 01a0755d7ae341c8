import { AgentError } from "./errors.ts";
import { addressOf, assertNotAway, type Fetch, fetchJson } from "./http.ts";
import { type Demand, judgedMetadata, metadataAddresses, type Resource } from "./resource.ts";
import { keep } from "./token-cache.ts";
import { covers, resourceMetadataUrl } from "./urls.ts";

const CAPACITY = 1_000;
/** How long the document of a named resource is used, and how long a resource counts as one without a document. */
const MAX_AGE_MS = 3_600_000;
const SILENCE_MS = 60_000;

export type Directory = ReturnType<typeof directory>;

/** The resources that an agent has met. */
export function directory(issuer: string, fetch: Fetch) {
  /** By their challenges. */
  const known = new Map<string, Resource>();
  /** By their names, with the time until which that holds. */
  const named = new Map<string, { readonly resource: Resource; readonly until: number }>();
  const running = new Map<string, Promise<Resource>>();

  /** Runs once for all who wait for it. */
  const once = (key: string, load: () => Promise<Resource>): Promise<Resource> => {
    const started = running.get(key) ?? load().finally(() => running.delete(key));
    running.set(key, started);
    return started;
  };
  /** @param isNeeded whether the server asks for a token, and has to say for which resource */
  const described = async (called: string, addresses: readonly string[], isNeeded = false) => {
    const statuses: number[] = [];
    for (const at of addresses) {
      const { status, body: document } = await fetchJson(fetch, at);
      if (status === 200 && document !== undefined) return judgedMetadata({ document, at, called, issuer });
      statuses.push(status);
    }
    if (isNeeded) assertNotAway(addressOf(called), statuses);
    return undefined;
  };
  const describedOrSilent = (identifier: string) =>
    described(identifier, [resourceMetadataUrl(identifier)]).catch((error: unknown) => {
      if (error instanceof AgentError && ["server_unreachable", "invalid_response"].includes(error.code)) return undefined;
      throw error;
    });

  return {
    /** The known resource around a URL, the closest one. */
    around: (url: string): Resource | undefined =>
      [...known.values()]
        .filter(({ identifier }) => covers(identifier, url))
        .sort((one, other) => other.identifier.length - one.identifier.length)[0],
    /**
     * The resource of a URL that answered with a challenge, by its metadata document.
     * @throws {AgentError} resource_unknown, wrong_resource, wrong_issuer, invalid_response, server_unreachable
     */
    learn: (called: string, demand: Demand | undefined) =>
      once(`learn ${called} ${demand?.metadataUrl}`, async () => {
        const found = await described(called, metadataAddresses(called, demand?.metadataUrl), demand !== undefined);
        if (found === undefined)
          throw new AgentError("resource_unknown", `${addressOf(called)} does not say for which resource a token is needed`);
        const resource = { ...found, scope: demand?.scope, takesProofs: found.takesProofs || demand?.takesProofs === true };
        keep(known, resource.identifier, resource, CAPACITY);
        return resource;
      }),
    /** Forgets what was learned of a resource. */
    forget: ({ identifier }: Resource) => void known.delete(identifier),
    /** A resource that the caller has named, which may have no document. @throws {AgentError} wrong_resource, wrong_issuer */
    named: (identifier: string) =>
      once(`named ${identifier}`, async () => {
        const already = named.get(identifier);
        if (already !== undefined && already.until > Date.now()) return already.resource;
        const found = URL.canParse(identifier) ? await describedOrSilent(identifier) : undefined;
        // A document that cannot be read any more does not make bound tokens bearer tokens.
        const takesProofs = (found ?? already?.resource)?.takesProofs === true;
        const resource = { identifier, scope: undefined, takesProofs };
        keep(named, identifier, { resource, until: Date.now() + (found === undefined ? SILENCE_MS : MAX_AGE_MS) }, CAPACITY);
        return resource;
      }),
  };
}
