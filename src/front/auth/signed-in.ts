import type { SignedIn } from "../../accounts/ports.ts";
import { readSession } from "../../accounts/sessions.ts";
import { Refusal } from "../../errors.ts";
import type { Cookies } from "../http/cookies.ts";
import type { FrontContext } from "../http/routes.ts";
import type { UserPorts } from "../user-ports.ts";

/** The signed-in person and the secret of the session. @throws {Refusal} unauthenticated */
export async function signedInBy(
  ctx: FrontContext,
  { sessions }: Pick<UserPorts, "sessions">,
  cookies: Cookies,
): Promise<SignedIn & { readonly secret: string }> {
  const secret = cookies.session(ctx);
  const signedIn = await readSession(secret, sessions);
  if (secret === undefined || !signedIn) throw new Refusal("unauthenticated", "no_session", { description: "Sign in first." });
  return { ...signedIn, secret };
}
