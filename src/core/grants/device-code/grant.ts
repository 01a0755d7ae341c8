import { Refusal } from "../../../errors.ts";
import { GRANTS } from "../../../protocol/grants.ts";
import { hashSecret } from "../../../random.ts";
import { ENFORCED } from "../../policy/rule.ts";
import { previewOfCode, redeemCode } from "../authorization-code/grant.ts";
import { CONFIDENTIAL_ONLY, checkGrantUse, GRANT_RULES, type Grant, type GrantRequest } from "../grant.ts";
import { APPROVED, DEVICE_CODE_UNEXPIRED, DEVICE_CODE_UNUSED, DEVICE_RULES, decideDevice, keyOfDevice } from "./rules.ts";

type Request = GrantRequest<"deviceCode">;

const { grantType } = GRANTS.deviceCode;

/** Seconds that are added to the interval of a client that polls too often (RFC 8628 §3.5). */
const SLOWER = 5;

const tooSoon = (): Refusal =>
  new Refusal("slow_down", "polled_too_soon", { description: "Wait 5 seconds longer between requests.", rule: APPROVED.name });

async function decide({ client, grant, prefetched, confirmation }: Request, trace = ENFORCED) {
  checkGrantUse({ client, grant }, trace);
  const [device, code] = await Promise.all([prefetched.device, prefetched.code]);
  return decideDevice({ device, code, confirmation }, client, grant.value, trace);
}

/** Tokens for a client whose user signs in and decides in a browser elsewhere. @see RFC 8628 */
export const deviceCode: Grant<"deviceCode"> = {
  rules: [...GRANT_RULES, ...DEVICE_RULES],
  refusalAudit: CONFIDENTIAL_ONLY,

  async issue(request, core) {
    const decision = await decide(request);
    const codeHash = hashSecret(request.grant.value.deviceCode);
    if (decision.kind === "pending") throw (await core.devices.poll(codeHash, SLOWER)) ? tooSoon() : decision.refusal;
    const answer = await redeemCode({ ...decision, codeHash, grantType }, request, core);
    if (answer !== undefined) return answer;
    const used = (await core.codes.byHash(codeHash))?.grantId != null;
    const rule = used ? DEVICE_CODE_UNUSED : DEVICE_CODE_UNEXPIRED;
    throw new Refusal("invalid_grant", used ? "device_code_used" : "device_code_expired", { rule: rule.name });
  },

  async preview(request, core, trace) {
    const confirmation = request.confirmation ?? keyOfDevice(await request.prefetched.device);
    const decision = await decide({ ...request, ...(confirmation && { confirmation }) }, trace);
    if (decision.kind === "pending") throw decision.refusal;
    return previewOfCode(decision, request, core);
  },
};
