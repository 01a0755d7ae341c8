import { type Cookies, csrfToken } from "./http/cookies.ts";
import type { FrontContext } from "./http/routes.ts";
import { browserSecret } from "./oauth/pending-request.ts";
import type { UserPorts } from "./user-ports.ts";

/** The member of a page's query that names what was just done. */
export const DONE_MEMBER = "done";

/** Of the token beside that name. */
export const donePurpose = (done: string): string => `${DONE_MEMBER} ${done}`;

type Browser = { readonly ports: Pick<UserPorts, "randomBytes">; readonly cookies: Cookies; readonly ctx: FrontContext };

/**
 * The path of a page that says what was just done. Its token is bound to the browser alone, as the act may start or end a session.
 * @param path without a query  @param done letters and dashes
 */
export function donePath({ ports, cookies, ctx }: Browser, path: string, done: string): string {
  const token = csrfToken(browserSecret(ctx, cookies, ports.randomBytes), donePurpose(done));
  return `${path}?${DONE_MEMBER}=${done}.${token}`;
}
