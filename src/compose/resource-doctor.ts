import type { Web } from "../cli/doctor/web.ts";
import { FetchFailure, type GuardedSend } from "../clients/guarded-fetch.ts";
import type { ResourceDoctor } from "../management/report-ports.ts";

/** Seconds after which nothing more is asked. */
const PATIENCE = 10;
const MOST_BYTES = 256 * 1024;

/** In words, why a guarded request has no response. */
const PROBLEMS: Readonly<Record<string, string>> = {
  name_not_resolved: "its name does not resolve",
  too_slow: "no complete answer within 2.5 seconds",
  too_large: `more than ${MOST_BYTES / 1024} kB`,
  address_not_public: "its address is not public; run `countersign doctor` in its network",
  host_is_an_address: "its host is an IP address; run `countersign doctor` in its network",
  host_is_local: "its name is local; run `countersign doctor` in its network",
  host_is_our_own: "it is on the host of this server; run `countersign doctor` elsewhere",
  scheme_not_https: "it is not https",
  too_many_fetches: "this server has too many requests under way; try again",
};
const NO_TIME = `not asked within ${PATIENCE} seconds`;

/** `countersign doctor` of one resource, by the rules of guarded requests. This server itself is known, and not asked. @param clock in seconds */
export const resourceDoctor =
  ({ send }: GuardedSend, issuer: string, clock: () => number): ResourceDoctor =>
  async (resource) => {
    const { examine } = await import("../cli/doctor/examine.ts");
    return examine(resource, guardedWeb(send, clock, await import("../cli/doctor/web.ts")), clock, issuer);
  };

type Parts = typeof import("../cli/doctor/web.ts");

function guardedWeb(send: GuardedSend["send"], clock: () => number, { connectionProblem, contentOf, webOf }: Parts): Web {
  const until = clock() + PATIENCE;
  return webOf(async (asked) => {
    const none = { url: asked.url, status: undefined, headers: new Headers(), body: undefined };
    if (clock() >= until) return { ...none, problem: NO_TIME };
    try {
      const { status, headers, body } = await send({ ...asked, maxBytes: MOST_BYTES });
      return { url: asked.url, status, headers: new Headers(headers), ...contentOf(Buffer.from(body).toString(), status) };
    } catch (error) {
      if (!(error instanceof FetchFailure)) throw error;
      return { ...none, problem: PROBLEMS[error.reason] ?? connectionProblem(error) };
    }
  });
}
