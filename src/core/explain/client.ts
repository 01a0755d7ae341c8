import { type Client, isConfidential } from "../../clients/client.ts";
import { Refusal } from "../../errors.ts";
import type { ClientCredential } from "../../gen/countersign/token/v1/token_pb.ts";
import { checkAssertion } from "../client-assertion.ts";
import {
  assertSecret,
  CLIENT_RULES,
  type ClientFacts,
  type Presented,
  presentedCredential,
  registeredMethod,
} from "../client-authentication.ts";
import type { Core } from "../core.ts";
import type { Prefetched } from "../token-request-context.ts";
import type { RuleTrace } from "./rule-trace.ts";

/**
 * Who asks. An operator knows no secret of a client's: where nothing is presented for a client that has to prove itself, that is taken for
 * granted. What is presented is judged as it would be, but uses up nothing and counts as no attempt.
 */
export async function traceClient(
  hearing: RuleTrace,
  credential: ClientCredential | undefined,
  ground: Prefetched,
  core: Core,
): Promise<Client | undefined> {
  const presented = await hearing.learn(CLIENT_RULES.credential, () => presentedCredential(credential));
  const facts = await hearing.learn(CLIENT_RULES.known, async () => {
    const found = await factsOf(presented as Presented, ground);
    CLIENT_RULES.known.assert(found);
    return found;
  });
  const client = facts?.client;
  const unproven = client !== undefined && isConfidential(client) && presented?.method === "none" && !registeredMethod(client, "none");
  const learn = (rule: (typeof CLIENT_RULES)["enabled" | "proven"], work: (facts: ClientFacts) => void | Promise<void>) =>
    hearing.learn(rule, () => work(facts as ClientFacts));
  if (unproven) hearing.takeForGranted(CLIENT_RULES.methodRegistered);
  else await learn(CLIENT_RULES.methodRegistered, CLIENT_RULES.methodRegistered.assert);
  await learn(CLIENT_RULES.enabled, CLIENT_RULES.enabled.assert);
  if (unproven) hearing.takeForGranted(CLIENT_RULES.proven);
  else await learn(CLIENT_RULES.proven, (known) => assertProven(known, core));
  return hearing.isOpen() ? client : undefined;
}

const factsOf = async (presented: Presented, ground: Prefetched): Promise<ClientFacts> => ({
  presented,
  client: await ground.clients.byClientId(presented.clientId),
  methodRule: registeredMethod,
});

async function assertProven(facts: ClientFacts, core: Core): Promise<void> {
  const { client, presented } = facts;
  if (presented.assertion === undefined || client === undefined) return assertSecret(facts);
  const { jti } = await checkAssertion(presented.assertion, client, core);
  if (await core.consumedIds.isConsumed("client_assertion", client.clientId, jti))
    throw new Refusal("invalid_client", "assertion_used_before");
}
