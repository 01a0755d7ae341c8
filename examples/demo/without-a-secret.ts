import { writeFileSync } from "node:fs";
import { agent } from "@countersign/agent";
import { kubernetesToken } from "@countersign/agent/workload";
import { aProof, proofKey } from "../../test/support/dpop.ts";
import { claimsOf } from "../../test/support/flow.ts";
import { type Platform, SERVICE_ACCOUNT } from "../../test/support/workloads.ts";
import { summarize } from "../agent/agent.ts";
import { expectThat, say, shorten } from "./story.ts";

export const DESK_AGENT = "desk-agent";

/** The rows of the operator's file: the cluster is trusted, and one of its service accounts is the agent. */
export const workloadRows = (cluster: Platform) => ({
  issuers: [{ issuer: cluster.issuer, kind: "kubernetes", allowPrivate: true }],
  client: {
    clientId: DESK_AGENT,
    name: "Desk agent",
    scopes: ["notes:read"],
    grantTypes: ["urn:ietf:params:oauth:grant-type:token-exchange"],
    tokenEndpointAuthMethod: "workload_jwt",
    workloadIdentities: [{ issuer: cluster.issuer, subject: SERVICE_ACCOUNT }],
    isAgent: true,
  },
});

export interface Stage {
  readonly issuer: string;
  readonly resource: string;
  readonly cluster: Platform;
  /** Where the cluster puts the token of the agent's service account. */
  readonly tokenFile: string;
  /** The user, and the token that the user's application hands to the agent. */
  readonly user: string;
  readonly handed: string;
}

/** An agent without any secret acts for a user, and who copies its traffic tries to use it. */
export async function actWithoutASecret({ issuer, resource, cluster, tokenFile, user, handed }: Stage): Promise<void> {
  const platformToken = cluster.token([issuer]);
  writeFileSync(tokenFile, platformToken);
  say(`the cluster signs a token for the agent's pod: ${claimsOf(platformToken).sub}, for ${issuer} alone`);
  let copied = { authorization: "", dpop: "" };
  const desk = agent({
    issuer,
    clientId: DESK_AGENT,
    credential: kubernetesToken(tokenFile),
    async fetch(input, init) {
      const headers = new Headers(init?.headers);
      const [authorization, dpop] = [headers.get("authorization"), headers.get("dpop")];
      if (authorization?.startsWith("DPoP ") && dpop !== null) copied = { authorization, dpop }; // what a log or a proxy could keep
      return fetch(input, init);
    },
  });
  const done = await summarize(desk, { subjectToken: handed, resource });
  expectThat(done.user === user && done.actors.join() === DESK_AGENT, "with it the agent acts for Ada: no secret is stored anywhere", done);

  const token = copied.authorization.slice("DPoP ".length);
  say(`a thief copies a whole request, with the token ${shorten(token)} and the proof ${shorten(copied.dpop)}, and sees:`);
  const attempts = {
    "the token as a bearer token": { authorization: `Bearer ${token}` },
    "the token with a key of the thief": { ...copied, dpop: aProof(proofKey(), { url: resource, accessToken: token }) },
    "the same request once more": copied,
  };
  for (const [attempt, headers] of Object.entries(attempts)) {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
    const response = await fetch(resource, { method: "POST", headers: { ...headers, "content-type": "application/json" }, body });
    const challenge = response.headers.get("www-authenticate")?.split(",", 1)[0];
    expectThat(response.status === 401, `${attempt}: 401, ${challenge}`, response.status);
  }
}
