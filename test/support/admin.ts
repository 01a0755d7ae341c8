import { type AdminClient, createAdminClient, refusalOf } from "@countersign/admin";
import { aBrowser } from "./browser.ts";
import { claimsOf } from "./flow.ts";
import { OPERATOR } from "./server.ts";

/** The typed API as someone who signs in by password, the operator of the tests unless said, and their id. */
export async function adminAs(
  url: string,
  who: { email: string; password: string } = OPERATOR,
): Promise<{ admin: AdminClient; id: string }> {
  const { body } = await aBrowser(url).json("/auth/login", who);
  return { admin: createAdminClient({ url, token: body.access_token }), id: claimsOf(body.access_token).sub };
}

/** What only operators may call, as the operator of the tests. */
export const operatorAt = async (url: string): Promise<AdminClient["operator"]> => (await adminAs(url)).admin.operator;

/** What a call was refused with, or undefined where it was not. */
export const refusedWith = (call: Promise<unknown>) => call.then(() => undefined, refusalOf);
