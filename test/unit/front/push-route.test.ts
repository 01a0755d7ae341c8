import { expect, onTestFinished, test } from "vitest";
import { pushRoute } from "../../../src/front/oauth/client-requests.ts";
import type { PushAuthorizationRequest } from "../../../src/gen/countersign/token/v1/token_pb.ts";
import { coreWith } from "../../support/fake-core.ts";
import { ISSUER, postForm, startFront } from "../../support/front.ts";

async function startPushing(wait = 0) {
  const received: PushAuthorizationRequest[] = [];
  const core = coreWith({
    async pushAuthorization(request) {
      received.push(request);
      return { requestUri: "urn:ietf:params:oauth:request_uri:r", expiresIn: 90, dpopNonce: "next" };
    },
  });
  const limiter = { hit: async () => wait };
  const front = await startFront({ routes: [pushRoute({ core, issuer: ISSUER, limiter })] });
  onTestFinished(() => front.close());
  return { url: `${front.url}/oauth/par`, received };
}

test("hands the form, the credential and the proof to the core, and prints its answer", async () => {
  const { url, received } = await startPushing();
  const form = { client_id: "c", client_secret: "s", response_type: "code", state: "st", ui_locales: "de" };
  const answer = await postForm(url, form, { dpop: "proof" });
  expect([answer.status, answer.headers.get("dpop-nonce"), await answer.json()]).toEqual([
    201,
    "next",
    { request_uri: "urn:ietf:params:oauth:request_uri:r", expires_in: 90 },
  ]);
  expect(received).toMatchObject([
    {
      client: { clientId: "c", clientSecret: "s", dpop: { proof: "proof", htm: "POST", htu: `${ISSUER}/oauth/par` } },
      request: { clientId: "c", responseType: "code", state: "st" },
      uiLocales: "de",
    },
  ]);
});

test("RFC 9126 §2.3: refuses what exceeds the limit of an address with 429, before the core", async () => {
  const { url, received } = await startPushing(7);
  const answer = await postForm(url, { client_id: "c" });
  expect([answer.status, answer.headers.get("retry-after"), ((await answer.json()) as { error: string }).error]).toEqual([
    429,
    "7",
    "too_many_requests",
  ]);
  expect(received).toEqual([]);
});

test("refuses credentials in the query, and repeated parameters", async () => {
  const { url, received } = await startPushing();
  const answers = [await postForm(`${url}?client_secret=s`, {}), await postForm(url, "client_id=c&state=a&state=b")];
  expect(answers.map(({ status }) => status)).toEqual([400, 400]);
  expect(received).toEqual([]);
});
