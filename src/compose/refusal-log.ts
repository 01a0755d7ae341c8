import { documentHost, namesDocument } from "../clients/document-url.ts";
import type { TokenCoreImplementation } from "../core/implementation.ts";
import { isRefusal, type Refusal } from "../errors.ts";
import type { Log } from "../telemetry/log.ts";

const TOKEN_ENDPOINT = "/oauth/token";

/** Reasons of refusals that came after a client metadata document was asked for; what is wrong with its URL is seen before. */
const isOfDocument = ({ reason }: Refusal): boolean => reason.startsWith("document_") && !reason.startsWith("document_url_");

export interface RefusalLog {
  /** A refusal by one of the front's routes. @param where `route` is the route's pattern */
  atRoute(refusal: Refusal, where: { readonly route: string; readonly requestId: string }): void;
  /** The core, logging what it refuses. */
  observing(core: TokenCoreImplementation): TokenCoreImplementation;
}

/**
 * Tells the operator's log what the outside is told in one word only: why a token request, or a client's metadata document, was refused.
 * Each refusal once, in the process that knows its reason; of a fetch that many requests waited for one line, so that the fetch budget
 * bounds them.
 */
export function refusalLog(log: Pick<Log, "info" | "warn">): RefusalLog {
  const told = new WeakSet<Refusal>();
  const isNew = (refusal: Refusal): boolean => !told.has(refusal) && told.add(refusal) !== undefined;

  const logToken = (refusal: Refusal, requestId: string): void => {
    const { code, reason } = refusal;
    if (reason !== "refused_by_core" && isNew(refusal)) log.info("token_refused", { route: TOKEN_ENDPOINT, code, reason, requestId });
  };
  const logDocument = (refusal: Refusal, clientId: string, requestId: string): void => {
    if (!namesDocument(clientId) || !isOfDocument(refusal) || !isNew(refusal)) return;
    const { reason } = refusal;
    log.warn("client_document_refused", { reason, host: documentHost(clientId), ...(requestId !== "" && { requestId }) });
  };
  /** A method whose refusals are told. */
  const logging =
    <Request, Rest extends unknown[], Answer>(
      method: (request: Request, ...rest: Rest) => Promise<Answer>,
      tell: (refusal: Refusal, request: Request) => void,
    ): typeof method =>
    async (request, ...rest) => {
      try {
        return await method(request, ...rest);
      } catch (error) {
        if (isRefusal(error)) tell(error, request);
        throw error;
      }
    };

  return {
    atRoute: (refusal, { route, requestId }) => {
      if (route === TOKEN_ENDPOINT) logToken(refusal, requestId);
    },
    observing: (core) => ({
      ...core,
      token: logging(core.token, (refusal, { requestId }) => logToken(refusal, requestId)),
      validateAuthorization: logging(core.validateAuthorization, (refusal, { request, requestId }) =>
        logDocument(refusal, request?.clientId ?? "", requestId),
      ),
      issueCode: logging(core.issueCode, (refusal, { request, requestId }) => logDocument(refusal, request?.clientId ?? "", requestId)),
      resolveClient: logging(core.resolveClient, (refusal, { clientId }) => logDocument(refusal, clientId, "")),
    }),
  };
}
