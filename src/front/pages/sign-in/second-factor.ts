import { CHALLENGE_TTL } from "../../../accounts/authenticators/webauthn.ts";
import type { Caller } from "../../../accounts/caller.ts";
import type { SignedIn } from "../../../accounts/ports.ts";
import { CODE_FIELD, SIGN_IN_OVER } from "../../../accounts/second-factor.ts";
import { completeSignIn, type HalfSignedIn, type NewSession, raiseSession } from "../../../accounts/sign-in.ts";
import { isRefusal } from "../../../errors.ts";
import { hashSecret, newSecret, type SecretHash } from "../../../random.ts";
import { completeArrival } from "../../../upstream/sign-in.ts";
import { formBody } from "../../http/body.ts";
import { sendRedirect } from "../../http/headers.ts";
import { languageOf } from "../../http/language.ts";
import type { FrontContext, Handler } from "../../http/routes.ts";
import { browserSecret } from "../../oauth/pending-request.ts";
import { lacksCodeOnly, PROVE_AGAIN, TOO_LATE } from "../fresh-proof.ts";
import { browserCaller, browserToken, enterBrowser, failedForm, type PageKit, queryForm, returnToOf, signedInTo } from "../kit.ts";
import { type FailedForm, type ReturnTo, sendPage } from "../views/layout.ts";
import { secondFactorView } from "./view.ts";

/** Names a sign-in that waits. */
export const STEP_MEMBER = "step";
const PATH = "/login/code";

/** Sign-ins that wait for a second factor in one browser. */
const WAITING = 20;

const purpose = (step: string): string => `second factor ${step}`;

/** The key of a sign-in that waits: its id, and the secret of the browser that proved the first factor. */
const stepHash = (step: string, browser: string): SecretHash => hashSecret(`second factor ${step} ${browser}`);

const pathOf = ({ site }: PageKit, step: string, returnTo: ReturnTo): string => site.path(`${PATH}?${STEP_MEMBER}=${step}`, returnTo);

/** Lets a sign-in wait in this browser for the second factor. @returns the path that asks for it */
export async function beginSecondFactor(kit: PageKit, ctx: FrontContext, half: HalfSignedIn, returnTo: ReturnTo): Promise<string> {
  const { challenges, randomBytes } = kit.ports;
  const [step, browser] = [newSecret(randomBytes), browserSecret(ctx, kit.cookies, randomBytes)];
  const bound = { holder: `user ${half.userId}`, limit: WAITING };
  await challenges.put(stepHash(step, browser), "second_factor", half, CHALLENGE_TTL, bound);
  return pathOf(kit, step, returnTo);
}

/** The path that asks a signed-in user for the second factor alone. */
export const raisePath = (kit: PageKit, returnTo: ReturnTo): string => pathOf(kit, "", returnTo);

/** The path of the sign-in page after a step that no longer waits. A user who is signed in already must still prove what the code was for. */
const latePath = ({ site }: PageKit, step: string, returnTo: ReturnTo): string =>
  site.path(`/login?${step === "" ? `${PROVE_AGAIN}=yes&` : ""}${TOO_LATE}=yes`, returnTo);

/** What waits for a code: a sign-in under its key, or a session that is to be raised. */
type Waiting = { readonly key: SecretHash; readonly half: HalfSignedIn } | { readonly key?: undefined; readonly signedIn: SignedIn };

/** GET and POST /login/code: the second factor, after a password or another provider, or of a user who has just signed in by one factor. */
export function secondFactorPage(kit: PageKit): { readonly GET: Handler; readonly POST: Handler } {
  const { ports, cookies, guard, site } = kit;

  const show = (ctx: FrontContext, step: string, returnTo: ReturnTo, { faults = [], status }: FailedForm = {}): void => {
    const page = { token: browserToken(kit, ctx, purpose(step)), step: [STEP_MEMBER, step] as const, returnTo, faults };
    sendPage(ctx, secondFactorView(site, languageOf(ctx), page), status);
  };

  async function waiting(ctx: FrontContext, step: string): Promise<Waiting | undefined> {
    if (step === "") {
      const signedIn = await signedInTo(kit, ctx);
      return signedIn && lacksCodeOnly(signedIn) ? { signedIn } : undefined;
    }
    const key = stepHash(step, browserSecret(ctx, cookies, ports.randomBytes));
    const found = await ports.challenges.byId(key, "second_factor");
    return found?.userId == null ? undefined : { key, half: { ...found, userId: found.userId } };
  }

  const proved = (found: Waiting, code: string, caller: Caller): Promise<NewSession> => {
    if (found.key === undefined) return raiseSession(found.signedIn, code, ports, caller);
    const { userId, upstream } = found.half;
    if (upstream !== null) return completeArrival({ userId, upstream, half: found.key }, code, ports, caller);
    return completeSignIn({ ...found.half, half: found.key }, code, ports, caller);
  };

  return {
    async GET(ctx) {
      const query = queryForm(ctx);
      const [step, returnTo] = [query.get(STEP_MEMBER) ?? "", returnToOf(site, query)];
      if ((await waiting(ctx, step)) === undefined) return sendRedirect(ctx, latePath(kit, step, returnTo));
      show(ctx, step, returnTo);
    },
    async POST(ctx) {
      const form = await formBody(ctx);
      const [step, returnTo] = [form.get(STEP_MEMBER) ?? "", returnToOf(site, form)];
      guard.assert(ctx, form, purpose(step));
      const found = await waiting(ctx, step);
      if (found === undefined) return sendRedirect(ctx, latePath(kit, step, returnTo));
      try {
        const session = await proved(found, form.get(CODE_FIELD) ?? "", browserCaller(kit, ctx));
        sendRedirect(ctx, await enterBrowser(kit, ctx, session, returnTo));
      } catch (error) {
        if (isRefusal(error) && error.reason === SIGN_IN_OVER) return sendRedirect(ctx, latePath(kit, step, returnTo));
        show(ctx, step, returnTo, failedForm(ctx, error, [CODE_FIELD]));
      }
    },
  };
}
