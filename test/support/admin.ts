import { type AdminClient, createAdminClient, refusalOf } from "@countersign/admin";
import { aBrowser } from "./browser.ts";
import { claimsOf } from "./flow.ts";
import { OPERATOR } from "./server.ts";
import { untilAnswered } from "./until-answered.ts";

/** @throws {Error} with every refusal */
async function accessTokenOf(url: string, who: { email: string; password: string }): Promise<string> {
  const { status, body } = await untilAnswered(() => aBrowser(url).json("/auth/login", who));
  if (status !== 200) throw new Error(`sign-in is answered ${status}: ${JSON.stringify(body)}`);
  return body.access_token;
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
