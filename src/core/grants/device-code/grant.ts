import type { Client } from "../../../clients/client.ts";
import { Refusal, refusing } from "../../../errors.ts";
import type { DeviceCodeGrant } from "../../../gen/countersign/token/v1/token_pb.ts";
import { GRANTS } from "../../../protocol/grants.ts";
import { hashSecret } from "../../../random.ts";
import { DPOP_KEY, type DpopKeyFacts } from "../../dpop.ts";
import { ENFORCED, type Rule, type RuleHead } from "../../policy/rule.ts";
import type { CodeState, Confirmation, DeviceState } from "../../stored-grants.ts";
import { previewOfCode, redeemCode } from "../authorization-code/grant.ts";
import { type Bound, boundTo, keyOf, SCOPE } from "../authorization-code/rules.ts";
import { AGENT_NOT_PAUSED, GRANT_RULES, type Grant, type GrantRequest, USER_ENABLED } from "../grant.ts";

/** A stored request; `code` once a user has approved it. */
type KnownDevice = DpopKeyFacts & { readonly client: Client; readonly device: DeviceState; readonly code: CodeState | undefined };
type Approved = { readonly client: Client; readonly params: DeviceCodeGrant; readonly code: CodeState };

const refuse = refusing("invalid_grant");

const DEVICE_CODE_KNOWN: Rule<{ readonly device: DeviceState | undefined }, DeviceState> = {
  name: "device_code_known",
  demand: "The device code was issued here, and is still stored.",
  source: "RFC 8628 §3.5",
  check: ({ device }) => device ?? refuse("device_code_unknown"),
};
const DEVICE_CODE_UNUSED: Rule<KnownDevice> = {
  name: "device_code_unused",
  demand: "The device code has not been used before.",
  source: "docs/protocol.md#device-authorization",
  check: ({ code }) => code === undefined || code.grantId === null || refuse("device_code_used"),
};
/** Seconds for which a device can still poll once its user can decide no more: several polls find the decision of the last moment. */
export const LAST_POLLS = 30;
const DEVICE_CODE_UNEXPIRED: Rule<KnownDevice> = {
  name: "device_code_unexpired",
  demand: "The device code has not expired, or not more than 30 seconds ago: until then it answers with a decision of its last seconds.",
  source: "RFC 8628 §3.5",
  check: ({ device }) =>
    device.expiresAt + LAST_POLLS > device.now || refusing("expired_token")("device_code_expired", "The codes have expired. Start again."),
};
const REQUEST_RULES: readonly Rule<KnownDevice>[] = [
  {
    name: "device_code_of_client",
    demand: "The device code was issued to this client.",
    source: "RFC 8628 §3.4",
    check: ({ client, device }) => device.clientId === client.clientId || refuse("device_code_of_another_client"),
  },
  DPOP_KEY,
  DEVICE_CODE_UNUSED,
  DEVICE_CODE_UNEXPIRED,
  {
    name: "device_not_denied",
    demand: "The user has not denied the request, and the approval has not ended with a consent, session, user or client.",
    source: "RFC 8628 §3.5",
    check: ({ device }) => device.deniedAt === null || refusing("access_denied")("device_denied", "The user has denied the request."),
  },
];
/** The caller notes the poll of a device whose user has not decided, so the decision reports it instead of throwing. */
const APPROVED: Rule<KnownDevice> = {
  name: "device_approved",
  demand: "The user has approved the request; until then the client waits for the interval between two polls.",
  source: "RFC 8628 §3.5",
  check: ({ code }) => code !== undefined || refusing("authorization_pending")("device_undecided", "The user has not decided yet."),
};
const RESOURCE: Rule<Approved, Bound> = {
  name: "resource",
  demand:
    "resource lies within the resources of the device request; where it had none, it can only be the client_id. Disabled resources are left out.",
  source: "RFC 8707 §2.2",
  check: ({ client, params, code }) => boundTo(params.resource, client, code),
};

const DEVICE_RULES: readonly RuleHead[] = [DEVICE_CODE_KNOWN, ...REQUEST_RULES, APPROVED, USER_ENABLED, AGENT_NOT_PAUSED, SCOPE, RESOURCE];

interface StoredRequest {
  readonly device: DeviceState | undefined;
  readonly code: CodeState | undefined;
  /** The key that the request proved. */
  readonly confirmation?: Confirmation | undefined;
}

/**
 * Decides what a device code entitles its client to. Pure.
 * @throws {Refusal} invalid_grant, expired_token, access_denied, invalid_scope, invalid_target
 * @see RFC 8628 §3.5, docs/protocol.md#device-authorization
 */
export function decideDevice(
  { device: found, code, confirmation }: StoredRequest,
  client: Client,
  params: DeviceCodeGrant,
  trace = ENFORCED,
) {
  const device = trace.check(DEVICE_CODE_KNOWN, { device: found });
  const facts = { client, device, code, boundTo: keyOf(device), confirmation };
  for (const rule of REQUEST_RULES) trace.check(rule, facts);
  const pending = trace.refusalOf(APPROVED, facts);
  if (code === undefined || pending !== undefined) return { kind: "pending", refusal: pending } as const;
  const approved = { client, params, code };
  trace.check(USER_ENABLED, code);
  trace.check(AGENT_NOT_PAUSED, code);
  return { kind: "redeem", code: trace.check(SCOPE, approved), ...trace.check(RESOURCE, approved) } as const;
}

type Request = GrantRequest<"deviceCode">;

const { grantType } = GRANTS.deviceCode;

/** Seconds that are added to the interval of a client that polls too often (RFC 8628 §3.5). */
const SLOWER = 5;

const tooSoon = (): Refusal =>
  new Refusal("slow_down", "polled_too_soon", { description: "Wait 5 seconds longer between requests.", rule: APPROVED.name });

async function decide({ client, grant, prefetched, confirmation }: Request, trace = ENFORCED) {
  for (const rule of GRANT_RULES) trace.check(rule, { client, grant });
  const [device, code] = await Promise.all([prefetched.device, prefetched.code]);
  return decideDevice({ device, code, confirmation }, client, grant.value, trace);
}

/** Tokens for a client whose user signs in and decides in a browser elsewhere. @see RFC 8628 */
export const deviceCode: Grant<"deviceCode"> = {
  rules: [...GRANT_RULES, ...DEVICE_RULES],

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
    const confirmation = request.confirmation ?? keyOf(await request.prefetched.device);
    const decision = await decide({ ...request, ...(confirmation && { confirmation }) }, trace);
    if (decision.kind === "pending") throw decision.refusal;
    return previewOfCode(decision, request, core);
  },
};
