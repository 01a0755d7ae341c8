import { FORWARDED_IGNORED } from "../../telemetry/metric-names.ts";
import { type Finding, findingsAbout, shown } from "./finding.ts";
import { type Answer, isObject, type Web } from "./web.ts";

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

/** Whether a response of `/health` is a Countersign's. */
export const isCountersign = ({ body }: Answer): boolean =>
  isObject(body?.services) && ["database", "redis", "core"].every((service) => service in (body.services as object));

/** Problems of a Countersign that its metadata does not show. Pure. */
export function countersignFindings({ url, health, forwardedIgnored, clockAhead }: CountersignObservations): readonly Finding[] {
  const { ok, warning, fault } = findingsAbout(`Countersign at ${shown(url)}`);
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
  return found;
}

/** @param health the response of `/health`, received `now` (seconds) */
export async function observeCountersign(url: string, health: Answer, now: number, web: Web): Promise<CountersignObservations> {
  const date = Date.parse(health.headers.get("date") ?? "");
  return {
    url,
    health,
    clockAhead: Number.isNaN(date) ? undefined : date / 1000 - now,
    forwardedIgnored: forwardedIgnoredIn(await web.text(`${url}/metrics`)),
  };
}

const forwardedIgnoredIn = (metrics: string | undefined): number | undefined => {
  const count = new RegExp(`^${FORWARDED_IGNORED} (\\d+)$`, "m").exec(metrics ?? "")?.[1];
  return count === undefined ? undefined : Number(count);
};
