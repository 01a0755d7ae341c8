import { type Cookies, csrfToken } from "./http/cookies.ts";
import type { FrontContext } from "./http/routes.ts";

/** The member of a page's query that names what was just done. */
export const DONE_MEMBER = "done";

/** Of the token beside that name. */
export const donePurpose = (done: string): string => `${DONE_MEMBER} ${done}`;

/**
 * The path of a page that says what was just done. Its token is bound to the browser alone, as the act may start or end a session.
 * @param path without a query  @param done letters and dashes
 */
export function donePath({ cookies, ctx }: { readonly cookies: Cookies; readonly ctx: FrontContext }, path: string, done: string): string {
  const token = csrfToken(cookies.browser(ctx), donePurpose(done));
  return `${path}?${DONE_MEMBER}=${done}.${token}`;
}
