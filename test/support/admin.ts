import { setTimeout as pause } from "node:timers/promises";
import { type AdminClient, createAdminClient, refusalOf } from "@countersign/admin";
import { aBrowser } from "./browser.ts";
import { claimsOf } from "./flow.ts";
import { OPERATOR } from "./server.ts";

/** A busy server answers 503: a client comes back when that says. @throws {Error} with every other refusal, and with the fifth */
async function accessTokenOf(url: string, who: { email: string; password: string }): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    const { status, headers, body } = await aBrowser(url).json("/auth/login", who);
    if (status === 200) return body.access_token;
    if (status !== 503 || attempt === 5) throw new Error(`sign-in is answered ${status}: ${JSON.stringify(body)}`);
    await pause(Number(headers.get("retry-after") ?? 1) * 1_000);
  }
}

/** The admin client of a user who signs in by password, by default the operator of the tests, and their id. */
export async function adminAs(
  url: string,
  who: { email: string; password: string } = OPERATOR,
): Promise<{ admin: AdminClient; id: string }> {
  const token = await accessTokenOf(url, who);
  return { admin: createAdminClient({ url, token }), id: claimsOf(token).sub };
}

/** The operator procedures, called by the operator of the tests. */
export const operatorAt = async (url: string): Promise<AdminClient["operator"]> => (await adminAs(url)).admin.operator;

/** A client in development of the operator of the tests, who alone may give it static API keys. @returns its id */
export async function aClientWithKeys(url: string): Promise<string> {
  const { admin, id: ownerId } = await adminAs(url);
  const { id } = await admin.operator.clients.create.mutate({
    name: "With keys",
    ownerId,
    environment: "development",
    redirectUris: ["https://keys.example.test/"],
    grantTypes: ["authorization_code"],
    tokenEndpointAuthMethod: "none",
  });
  return id;
}

/** The refusal of a call, or undefined when it succeeds. */
export const refusedWith = (call: Promise<unknown>) => call.then(() => undefined, refusalOf);
