import type { Caller } from "../../../accounts/caller.ts";
import type { FailureBudget, SignInFailures } from "../../../accounts/ports.ts";
import { isRefusal, Refusal } from "../../../errors.ts";
import { parseUserCode } from "../../../protocol/user-code.ts";
import { hashSecret } from "../../../random.ts";
import { sendRedirect } from "../../http/answers.ts";
import { keepRequest } from "../../oauth/authorize.ts";
import { browserToken, doneOf, type FormHandlers, failedForm, formFor, queryMember, signedInTo, type Visit } from "../kit.ts";
import { sendForm, sendNotice } from "../views/cards.ts";
import { type FailedForm, hidden } from "../views/layout.ts";

const PURPOSE = "device";

function show(visit: Visit, value: string | undefined, failed: FailedForm = {}): void {
  const { device: texts, words } = visit.texts;
  sendForm(visit, failed, {
    title: texts.title,
    lead: value === undefined || failed.faults !== undefined ? texts.lead : texts.leadFilled,
    action: visit.site.path("/device"),
    members: hidden(browserToken(visit, PURPOSE)),
    fields: [{ name: "user_code", label: words.code, type: "text", autocomplete: "off", value, autofocus: true, hint: texts.hint }],
    submit: words.continue,
    after: texts.caution,
  });
}

/** GET /device and POST /device: takes the code that a device shows, then continues as an application's request. @see RFC 8628 §3.3 */
export const devicePage: FormHandlers = {
  async GET(visit) {
    await signedInTo(visit);
    show(visit, queryMember(visit, "user_code"));
  },
  async POST(visit) {
    const { ctx, ports, cookies } = visit;
    const form = await formFor(visit, PURPOSE);
    const signedIn = await signedInTo(visit); // also for the branding of a page that says what is wrong
    const userCode = form.get("user_code") ?? "";
    const find = () => ports.core.findDeviceRequest({ userCode }, { signal: ctx.state.signal });
    try {
      const code = parseUserCode(userCode);
      if (code === undefined) throw wrongCode(); // a slip, and no guess that would count
      const entered = `${code} ${cookies.browser(ctx)}`;
      const { deviceRequest } = await withUserCodeBudget(ports.strangerFailures, visit.caller, entered, find);
      const requestId = await keepRequest(visit, { request: { deviceRequest }, signedIn });
      sendRedirect(ctx, visit.site.path("/consent", { requestId }));
    } catch (error) {
      show(visit, userCode, failedForm(visit, error, ["user_code"]));
    }
  },
};

/** GET /device/done: confirms the user's decision. The device gets its answer at the token endpoint. */
export const deviceDonePage = async (visit: Visit) => {
  const { site } = visit;
  const outcome = doneOf(visit);
  if (outcome !== "approved" && outcome !== "denied" && outcome !== "failed") return sendRedirect(visit.ctx, site.path("/device"));
  await signedInTo(visit);
  sendNotice(visit, { tone: outcome === "approved" ? "good" : "plain", ...visit.texts.device[outcome] });
};

/** Wrong user codes that one address may enter in an hour. With 34.6 bits it would take thousands of years to guess one. @see RFC 8628 §5.1 */
const BUDGET: FailureBudget = { limit: 5, window: 3_600 };

const wrongCode = (): Refusal =>
  new Refusal("invalid_request", "user_code_unknown", { issues: [{ path: "user_code", message: "is not the code of a device" }] });

/**
 * Looks a user code up within the budget of the caller's address. The attempt is reserved first, so that parallel guesses cannot exceed it. A
 * right code does not clear the failures: anyone can get one of their own. Entering it again after the decision is no failure in the same
 * browser, which learns nothing new by that.
 * @param entered the code, with the secret of the browser
 * @param find throws {Refusal} not_found for a wrong code
 * @throws {Refusal} invalid_request for a wrong code, too_many_requests
 */
async function withUserCodeBudget<Found>(
  failures: SignInFailures,
  { limitKey }: Pick<Caller, "limitKey">,
  entered: string,
  find: () => Promise<Found>,
): Promise<Found> {
  const [address, known] = [hashSecret(`user code\n${limitKey}`), hashSecret(`entered user code\n${entered}`)];
  const retryAfter = await failures.reserve(address, BUDGET);
  if (retryAfter > 0) throw new Refusal("too_many_requests", "user_code_failures", { retryAfter });
  const settle = (verdict: "wrong" | "none") => failures.settle({ pair: undefined, address }, verdict, BUDGET.window);
  try {
    const found = await find();
    await failures.count(known, BUDGET.window);
    await settle("none");
    return found;
  } catch (error) {
    const isWrong = isRefusal(error) && error.code === "not_found";
    await settle(isWrong && (await failures.failures(known)) === 0 ? "wrong" : "none");
    throw isWrong ? wrongCode() : error;
  }
}
