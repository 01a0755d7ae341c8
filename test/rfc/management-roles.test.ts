import { createAdminClient } from "@countersign/admin";
import type { AnyProcedure } from "@trpc/server";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { managementRouter } from "../../src/management/router.ts";
import { type ManagementFront, managementUsers, startManagement } from "../support/management.ts";

// Every procedure is called without a token, as a developer, as another developer and as an operator. What is below `operator` is for operators
// alone; every other procedure has a row here, so that a new one without a row fails.

/** How a caller is answered: with the result, 404 as if there were no record, or 400 since the caller was let in and the input is bad. */
type Answer = 200 | 400 | 404;
interface Row {
  /** Made for each call from a new client of the developer. */
  readonly input?: (clientId: string) => unknown;
  readonly developer: Answer;
  readonly other: Answer;
  readonly operator: Answer;
}
const all = { developer: 200, other: 200, operator: 200 } as const;
/** The developer's client exists for its developer alone. */
const own = { developer: 200, other: 404, operator: 404 } as const;
const ROWS: Readonly<Record<string, Row>> = {
  "account.get": all,
  "viewer.get": all,
  "viewer.client": { input: (id) => ({ id }), ...own, operator: 200 },
  "figures.get": all,
  "live.audit": all,
  "clients.list": all,
  "clients.create": { input: () => ({ name: "Made" }), ...all },
  "clients.judgeRedirectUris": { input: () => ({ redirectUris: ["http://app.example"], tokenEndpointAuthMethod: "none" }), ...all },
  "clients.consents": { input: (id) => ({ id }), ...own, operator: 200 },
  "clients.get": { input: (id) => ({ id }), ...own },
  "clients.update": { input: (id) => ({ id, patch: { name: "Renamed" } }), ...own },
  "clients.delete": { input: (id) => ({ id }), ...own },
  "clients.regenerateSecret": { input: (id) => ({ id }), ...own },
  "apiKeys.create": { input: (clientId) => ({ clientId, key: { name: "k" } }), ...own },
  "apiKeys.list": { input: (clientId) => ({ clientId }), ...own },
  "apiKeys.revoke": { input: (clientId) => ({ clientId, keyId: "none" }), developer: 404, other: 404, operator: 404 },
};
/** Procedures for operators outside `operator`. */
const OPERATORS = ["viewer.user"];

/** By their paths; tRPC types them by their nesting. */
const defined = managementRouter._def.procedures as unknown as Readonly<Record<string, AnyProcedure>>;
const procedures = Object.entries(defined).map(([path, { _def }]) => ({ path, type: _def.type }));
const isOperators = (path: string) => path.startsWith("operator.") || OPERATORS.includes(path);

let api: ManagementFront;
let callers: { readonly anonymous: undefined } & Readonly<Record<"developer" | "other" | "operator", string>>;
beforeAll(async () => {
  api = await startManagement();
  const { ada, bob, operator } = await managementUsers(api);
  callers = { anonymous: undefined, developer: ada, other: bob, operator };
});
afterAll(() => api.close());

async function statusOf(caller: keyof typeof callers, { path, type }: (typeof procedures)[number], input?: unknown): Promise<number> {
  const query = type === "mutation" || input === undefined ? "" : `?input=${encodeURIComponent(JSON.stringify(input))}`;
  const [method, body] = type === "mutation" ? (["POST", input ?? {}] as const) : (["GET", undefined] as const);
  const answer = await api.call(callers[caller], method, `/trpc/${path}${query}`, body);
  if (type !== "subscription") {
    await answer.body?.cancel();
    return answer.status;
  }
  return firstStatus(answer.body as ReadableStream<Uint8Array>);
}

/** A stream of events begins with 200; what refuses it is an event. */
async function firstStatus(body: ReadableStream<Uint8Array>): Promise<number> {
  let text = "";
  for await (const chunk of body) {
    text += Buffer.from(chunk).toString();
    const refused = /"httpStatus":(\d{3})/.exec(text)?.[1];
    if (refused !== undefined) return Number(refused);
    // After the event "connected".
    if (text.split("\n\n").length > 2) return 200;
  }
  return 200;
}

const clientOf = async (token: string) => createAdminClient({ url: api.url, token }).clients.create.mutate({ name: "Theirs" });

test("every procedure outside of `operator` has a row", () => {
  const others = procedures.map(({ path }) => path).filter((path) => !isOperators(path));
  expect(others.sort()).toEqual(Object.keys(ROWS).sort());
});

describe("each procedure lets in whom it should", () => {
  test.for(procedures.filter(({ path }) => isOperators(path)))("$path is for operators", async (procedure) => {
    expect(await statusOf("anonymous", procedure)).toBe(401);
    expect(await statusOf("developer", procedure)).toBe(403);
    expect(await statusOf("other", procedure)).toBe(403);
    expect([200, 400, 404, 409]).toContain(await statusOf("operator", procedure));
  });

  test.for(procedures.filter(({ path }) => !isOperators(path)))("$path answers each role by its row", async (procedure) => {
    const { input, ...row } = ROWS[procedure.path] as Row;
    expect(await statusOf("anonymous", procedure, input?.("none"))).toBe(401);
    for (const caller of ["other", "operator", "developer"] as const) {
      const made = input === undefined ? undefined : await clientOf(callers.developer);
      expect([caller, await statusOf(caller, procedure, made && input?.(made.id))]).toEqual([caller, row[caller]]);
    }
  });
});

test("viewer reports what the procedures let a caller do", async () => {
  const [developer, operator] = [callers.developer, callers.operator].map((token) => createAdminClient({ url: api.url, token }));
  if (developer === undefined || operator === undefined) throw new Error("no callers");
  expect((await developer.viewer.get.query()).can).toEqual({ operate: false, createClients: true, inviteUsers: false });
  expect(await operator.viewer.get.query()).toMatchObject({
    role: "operator",
    can: { operate: true, createClients: true, inviteUsers: true },
  });
  const { id } = await clientOf(callers.developer);
  const can = { update: true, delete: true, regenerateSecret: true, setOperatorAttributes: false, createApiKeys: true };
  expect(await developer.viewer.client.query({ id })).toEqual({ can });
  expect(await operator.viewer.client.query({ id })).toEqual({ can: { ...can, setOperatorAttributes: true, createApiKeys: false } });
  const others = { disable: true, delete: true, setRole: true };
  expect(await operator.viewer.user.query({ id: callers.developer })).toEqual({ can: others });
  const self = { disable: false, delete: false, setRole: false };
  expect(await operator.viewer.user.query({ id: callers.operator.slice("op.".length) })).toEqual({ can: self });
});

test("a developer's list is whole without an input, and otherwise a page of their own clients", async () => {
  const client = createAdminClient({ url: api.url, token: callers.other });
  expect(await client.clients.list.query()).not.toHaveProperty("nextCursor");
  const { name } = await clientOf(callers.other);
  const page = await client.clients.list.query({ search: name.toLowerCase(), sort: "name", limit: 1 });
  expect(page.clients.map((each) => each.name)).toEqual([name]);
  expect(page).toMatchObject({ nextCursor: null, total: 1, totalIsExact: true });
});
