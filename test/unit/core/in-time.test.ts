import { expect, test } from "vitest";
import type { AuditEntry } from "../../../src/audit.ts";
import { inTime } from "../../../src/core/effects.ts";
import type { Core } from "../../../src/core/ports.ts";
import { hashSecret } from "../../../src/random.ts";
import { clocksAt } from "../../support/clock.ts";

const entry: AuditEntry = { event: "token.issued", outcome: "success", actor: { type: "client", id: "c" } };
const [from, to] = [hashSecret("a"), hashSecret("b")];

function aCore(members: Partial<Core> = {}) {
  const moments: (number | undefined)[] = [];
  const families = {
    rotate: async (...[, , , audit]: Parameters<Core["families"]["rotate"]>) => moments.push(audit.notAfter) > 0,
  };
  return { moments, core: { families, codes: {}, grants: {}, delegations: {}, audit: {}, ...members } as unknown as Core };
}

test("an effect carries the deadline of its call", async () => {
  const { core, moments } = aCore({ clocks: clocksAt(() => 3), effectWindow: 4 });
  await inTime(core, { notAfter: 5 }).families.rotate("f", from, { hash: to, ttl: 60 }, entry);
  expect(moments).toEqual([5]);
});

test("without a deadline of the call, the deadline is computed when the effect is written", async () => {
  let now = 1;
  const { core, moments } = aCore({ clocks: clocksAt(() => now), effectWindow: 2 });
  const view = inTime(core, {});
  now = 9;
  await view.families.rotate("f", from, { hash: to, ttl: 60 }, entry);
  expect(moments).toEqual([11]);
});

test("where the database's time is not known, the deadline of a call is kept for the statement, and none is made up", async () => {
  const { core, moments } = aCore({ effectWindow: 4 });
  await inTime(core, { notAfter: 5 }).families.rotate("f", from, { hash: to, ttl: 60 }, entry);
  await inTime(core, {}).families.rotate("f", from, { hash: to, ttl: 60 }, entry);
  expect(moments).toEqual([5, undefined]);
});

test("a call whose caller has left starts no effect", async () => {
  const { core, moments } = aCore();
  const rotation = inTime(core, { signal: AbortSignal.abort() }).families.rotate("f", from, { hash: to, ttl: 60 }, entry);
  await expect(rotation).rejects.toMatchObject({ code: "temporarily_unavailable", reason: "caller_gone" });
  expect(moments).toEqual([]);
});
