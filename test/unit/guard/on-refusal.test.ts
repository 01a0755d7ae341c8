import { expect, onTestFinished, test, vi } from "vitest";
import { createGuard, type GuardOptions } from "../../../guard-sdk/src/index.ts";
import { refusalOf } from "../../support/guard-refusal.ts";

const lost = new Error("the log is full");

const guardWith = (onRefusal: GuardOptions["onRefusal"]) =>
  createGuard({ resource: "https://notes.example", authorizationServers: ["https://as.example"], ...(onRefusal && { onRefusal }) });

const FAILING = [
  [
    "throws",
    () => {
      throw lost;
    },
  ],
  ["returns a promise that rejects", () => Promise.reject(lost)],
] as const;

test.for(FAILING)("an onRefusal that %s changes no answer, and its error becomes a warning", async ([, onRefusal]) => {
  const warnings = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
  onTestFinished(() => void warnings.mockRestore());
  const guard = guardWith(onRefusal);
  const request = new Request("https://notes.example", { headers: { authorization: "Bearer x" } });
  expect((await guard.protect(() => new Response())(request)).status).toBe(401);
  expect(await refusalOf(() => guard.verifyRequest(request))).toEqual(["invalid_token", "token_malformed"]);
  expect(await refusalOf(() => guard.verifyToken("x"))).toEqual(["invalid_token", "token_malformed"]);
  await vi.waitUntil(() => warnings.mock.calls.length === 3);
  expect(warnings.mock.calls).toEqual([[lost], [lost], [lost]]);
});

test("an error of onRefusal goes to the console of a runtime that has no process", async () => {
  const { process } = globalThis;
  const printed = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  onTestFinished(() => {
    vi.stubGlobal("process", process);
    vi.unstubAllGlobals();
    printed.mockRestore();
  });
  const guard = guardWith(() => Promise.reject(lost));
  vi.stubGlobal("process", undefined);
  await guard.protect(() => new Response())(new Request("https://notes.example"));
  await new Promise((done) => setImmediate(done));
  expect(printed.mock.calls).toEqual([[lost]]);
});
