import { Metadata, status } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { Refusal } from "../../../src/errors.ts";
import { loggingOutages } from "../../../src/grpc/core-client.ts";

const unavailable = (details: string): Refusal => {
  const cause = Object.assign(new Error(details), { code: status.UNAVAILABLE, details, metadata: new Metadata() });
  return new Refusal("temporarily_unavailable", "core_unavailable", { cause });
};
const late = new Refusal("temporarily_unavailable", "core_timeout");
const refused = new Refusal("invalid_client", "refused_by_core");

/** The log after calls that end so, one a second; undefined is an answer. */
async function loggedOf(...ends: readonly (Refusal | undefined)[]): Promise<unknown[]> {
  const lines: unknown[] = [];
  const log = { warn: (event: string, fields?: object) => lines.push([event, fields]), info: (event: string) => lines.push([event]) };
  let turn = 0;
  const call = loggingOutages(
    log,
    () => turn * 1_000,
  )(async () => {
    const end = ends[turn++];
    if (end !== undefined) throw end;
    return {} as never;
  });
  for (const _ of ends) await call({}).catch(() => undefined);
  return lines;
}

test("two cores that are away for different reasons are logged once each, however calls alternate between them", async () => {
  const [one, other] = [unavailable("connect ECONNREFUSED 127.0.0.1:1"), unavailable("connect EHOSTUNREACH 127.0.0.2:1")];
  expect(await loggedOf(one, other, one, other, one, undefined, undefined, one)).toEqual([
    ["core_away", { reason: "core_unavailable", code: "ECONNREFUSED" }],
    ["core_away", { reason: "core_unavailable", code: "EHOSTUNREACH" }],
    ["core_back"],
    ["core_away", { reason: "core_unavailable", code: "ECONNREFUSED" }],
  ]);
});

test("a core that refuses is back, and a later outage is logged again", async () => {
  const away = unavailable("connect ECONNREFUSED 127.0.0.1:1");
  const line = ["core_away", { reason: "core_unavailable", code: "ECONNREFUSED" }];
  expect(await loggedOf(away, away, refused, away)).toEqual([line, ["core_back"], line]);
});

test("calls that have no answer for three seconds are an outage; single ones among others are none", async () => {
  const cut = unavailable("Connection dropped");
  expect(await loggedOf(late, late, cut, undefined, late, late, late, refused, late, cut)).toEqual([]);
  expect(await loggedOf(late, cut, late, late, late, late, undefined)).toEqual([
    ["core_away", { reason: "core_unavailable", code: "no_answer" }],
    ["core_back"],
  ]);
});
