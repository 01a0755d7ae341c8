import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CredentialIssuer, credentialIssuer } from "../support/credential-issuer.ts";
import { runText } from "../support/database.ts";
import type { Linking, LinkingUser } from "../support/linking.ts";
import type { TestServer } from "../support/server.ts";
import { type AskedPresentation, aWallet, bind, encoded, nowSeconds, type Wallet, walletKey } from "../support/wallet.ts";
import { startWalletServer } from "../support/wallet-server.ts";

let trusted: CredentialIssuer;
let untrusted: CredentialIssuer;
let server: TestServer;
let at: Linking;
let close: () => Promise<void>;
beforeAll(async () => {
  [trusted, untrusted] = [await credentialIssuer("/eu"), await credentialIssuer()];
  ({ server, at, close } = await startWalletServer({ TRUST_PROXY: "true" }, trusted));
});
afterAll(() => Promise.all([close(), untrusted.close()]));

/** The credential with only its subject disclosed. Ends in `~`. */
const onlySubject = (credential: string): string => {
  const [jwt, ...disclosures] = credential.split("~").slice(0, -1);
  return `${[jwt, ...disclosures.filter((text) => Buffer.from(text, "base64url").includes('"sub"'))].join("~")}~`;
};

interface Scene {
  readonly wallet: Wallet;
  readonly asked: AskedPresentation;
  /** What an honest wallet would send. */
  readonly honest: string;
  readonly credential: string;
}

/** What a hostile wallet sends, and the reason in the audit record. */
const attacks: [what: string, make: (scene: Scene) => Promise<string> | string, reason: string][] = [
  [
    "a presentation with the nonce of another request",
    ({ credential, wallet, asked }) => bind(onlySubject(credential), wallet.holder, { aud: asked.clientId, nonce: "swapped" }),
    "key_binding_nonce_wrong",
  ],
  [
    "a presentation for another verifier",
    ({ credential, wallet, asked }) =>
      bind(onlySubject(credential), wallet.holder, { aud: "x509_san_dns:shop.example.test", nonce: asked.nonce }),
    "key_binding_for_another",
  ],
  [
    "a key binding with another holder's key",
    ({ credential, asked }) => bind(onlySubject(credential), walletKey(), { aud: asked.clientId, nonce: asked.nonce }),
    "key_binding_signature_wrong",
  ],
  ["a presentation without key binding", ({ credential }) => onlySubject(credential), "key_binding_missing"],
  [
    "removed disclosures, signed by the holder",
    ({ credential, wallet, asked }) => bind(`${credential.split("~")[0]}~`, wallet.holder, { aud: asked.clientId, nonce: asked.nonce }),
    "claims_missing",
  ],
  ["disclosures removed after signing", ({ honest }) => `${honest.split("~")[0]}~${honest.split("~").at(-1)}`, "key_binding_hash_wrong"],
  [
    "an invented disclosure",
    ({ credential, wallet, asked }) =>
      bind(`${credential.split("~")[0]}~${encoded(["salt", "sub", "someone else"])}~`, wallet.holder, {
        aud: asked.clientId,
        nonce: asked.nonce,
      }),
    "disclosure_unreferenced",
  ],
  [
    "an expired credential",
    async ({ wallet, asked }) =>
      wallet.present(await trusted.issue({ holder: wallet.holder, claims: { exp: nowSeconds() - 3_600 } }), asked),
    "credential_expired",
  ],
  [
    "a credential of an untrusted issuer",
    async ({ wallet, asked }) => wallet.present(await untrusted.issue({ holder: wallet.holder }), asked),
    "issuer_not_trusted",
  ],
  [
    "a credential of the trusted issuer signed with another key",
    async ({ wallet, asked }) => wallet.present(await trusted.issue({ holder: wallet.holder, by: walletKey() }), asked),
    "issuer_signature_wrong",
  ],
  [
    "a credential of another type",
    async ({ wallet, asked }) => wallet.present(await trusted.issue({ holder: wallet.holder, claims: { vct: "urn:other" } }), asked),
    "credential_type_not_asked_for",
  ],
  [
    "an old presentation",
    ({ credential, wallet, asked }) =>
      bind(onlySubject(credential), wallet.holder, { aud: asked.clientId, nonce: asked.nonce, iat: nowSeconds() - 3_600 }),
    "key_binding_not_fresh",
  ],
  ["a malformed presentation", () => "rubbish", "presentation_malformed"],
];

describe("a hostile wallet", () => {
  test.for(attacks)("%s is rejected, and so is a later valid presentation", async ([, make, reason]) => {
    const [user, wallet] = [await at.aUser(), aWallet()];
    const credential = await trusted.issue({ holder: wallet.holder, claims: { sub: `hostile ${reason}` } });
    const { handle, invocation_uri } = await at.begin(user);
    const asked = await wallet.open(invocation_uri);
    const scene = { wallet, asked, credential, honest: await wallet.present(credential, asked) };
    const sent = await wallet.sendPresentation(asked, await make(scene));
    expect([sent.status, sent.body]).toEqual([200, {}]);
    expect(await at.poll(user, handle)).toEqual({
      status: 200,
      body: { status: "rejected", message: "The wallet's answer was not accepted." },
    });
    expect(await at.refusals(user)).toEqual([reason]);
    // A request accepts one response, so that the valid one comes too late.
    expect((await wallet.sendPresentation(asked, scene.honest)).status).toBe(400);
    expect((await at.poll(user, handle)).body.status).toBe("rejected");
  });

  test("an untrusted issuer receives no request", () => {
    expect(untrusted.publisher.connections()).toBe(0);
  });
});

describe("limits of link starts", () => {
  const begin = (user: LinkingUser, address: string) => at.start(user, { "x-csrf-token": user.csrf, "x-forwarded-for": address });
  /** The answers to a few requests at a time: those of one user wait for each other, and on a busy machine for too long if they are many. */
  const inRounds = async (count: number, requests: (round: number) => readonly Promise<Response>[]) => {
    const answers: Response[] = [];
    for (let round = 0; round < count; round++) answers.push(...(await Promise.all(requests(round))));
    return answers;
  };
  const statuses = (answers: readonly Response[]) => answers.map(({ status }) => status).sort();

  test("a user starts 20 links in 15 minutes from any address; the next returns 429 with Retry-After", async () => {
    const user = await at.aUser();
    const answers = await inRounds(3, (round) => Array.from({ length: 7 }, (_, n) => begin(user, `192.0.2.${7 * round + n}`)));
    expect(statuses(answers)).toEqual([...Array(20).fill(200), 429]);
    const refused = answers.find(({ status }) => status === 429);
    expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThan(800);
    expect(await refused?.json()).toEqual({ message: expect.any(String) });
  });

  test("an address starts 60 links for any users; the next returns 429", async () => {
    const users = [await at.aUser(), await at.aUser(), await at.aUser(), await at.aUser()];
    const answers = await inRounds(4, () => [...users, ...users, ...users, ...users].map((user) => begin(user, "192.0.2.200")));
    expect(statuses(answers)).toEqual([...Array(60).fill(200), ...Array(4).fill(429)]);
  });
});

describe("replay", () => {
  test("64 concurrent responses to one state: exactly one is accepted", async () => {
    const [user, wallet] = [await at.aUser(), aWallet()];
    const credential = await trusted.issue({ holder: wallet.holder, claims: { sub: "parallel" } });
    const { handle, invocation_uri } = await at.begin(user);
    const asked = await wallet.open(invocation_uri);
    const presentation = await wallet.present(credential, asked);
    const sent = await Promise.all(Array.from({ length: 64 }, () => wallet.sendPresentation(asked, presentation)));
    expect(sent.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(sent.filter(({ status, body }) => status === 400 && typeof body.message === "string")).toHaveLength(63);
    expect((await at.poll(user, handle)).body.status).toBe("linked");
  });

  test("an intercepted presentation is rejected at another request and cannot be repeated at its own", async () => {
    const [victim, thief, wallet] = [await at.aUser(), await at.aUser(), aWallet()];
    const credential = await trusted.issue({ holder: wallet.holder, claims: { sub: "seen" } });
    const theirs = await at.begin(victim);
    const asked = await wallet.open(theirs.invocation_uri);
    const presentation = await wallet.present(credential, asked);
    const own = await at.begin(thief);
    await wallet.sendPresentation(await wallet.open(own.invocation_uri), presentation);
    expect((await at.poll(thief, own.handle)).body.status).toBe("rejected");
    expect(await at.refusals(thief)).toEqual(["key_binding_nonce_wrong"]);
    await wallet.sendPresentation(asked, presentation);
    expect((await wallet.sendPresentation(asked, presentation)).status).toBe(400);
    expect((await at.poll(victim, theirs.handle)).body.status).toBe("linked");
  });
});

describe("POST /auth/link/wallet/response", () => {
  const post = (body: string, headers: Record<string, string> = { "content-type": "application/x-www-form-urlencoded" }) =>
    fetch(`${server.url}/auth/link/wallet/response`, { method: "POST", body, headers, redirect: "manual" });
  const outcome = async (response: Response) => [response.status, await response.json()];
  const BAD = [400, { message: expect.any(String) }];

  test("an unknown state returns 400", async () => {
    expect(await outcome(await post(`state=${"x".repeat(43)}&vp_token={}`))).toEqual(BAD);
    expect(await outcome(await post("state=%ff&error=access_denied"))).toEqual(BAD);
  });

  test("a form that is neither a presentation nor an error returns 400 and leaves the link pending", async () => {
    const [user, wallet] = [await at.aUser(), aWallet()];
    const { handle, invocation_uri } = await at.begin(user);
    const { state } = await wallet.open(invocation_uri);
    for (const body of [
      "",
      `state=${state}`,
      "vp_token={}",
      `state=${state}&vp_token={}&error=access_denied`,
      `state=${state}&state=${state}&vp_token={}`,
      `state=${state}&vp_token={}&vp_token={}`,
    ])
      expect(await outcome(await post(body))).toEqual(BAD);
    expect(await outcome(await post(JSON.stringify({ state, vp_token: {} }), { "content-type": "application/json" }))).toEqual(BAD);
    expect((await at.poll(user, handle)).body.status).toBe("pending");
    await wallet.answer(invocation_uri, await trusted.issue({ holder: wallet.holder, claims: { sub: "form" } }));
    expect((await at.poll(user, handle)).body.status).toBe("linked");
  });

  test("an oversized body returns 413 and leaves the link pending", async () => {
    const [user, wallet] = [await at.aUser(), aWallet()];
    const { handle, invocation_uri } = await at.begin(user);
    const { state } = await wallet.open(invocation_uri);
    const response = await post(`state=${state}&vp_token=${"x".repeat(70_000)}`);
    expect([response.status, await response.json()]).toEqual([413, { message: expect.any(String) }]);
    expect((await at.poll(user, handle)).body.status).toBe("pending");
  });

  test("the response endpoint allows any origin, the poll endpoint none", async () => {
    const origin = { origin: "https://wallet.example.test" };
    const sent = await post("state=x&error=access_denied", { ...origin, "content-type": "application/x-www-form-urlencoded" });
    expect([sent.headers.get("access-control-allow-origin"), sent.headers.get("access-control-allow-credentials")]).toEqual(["*", null]);
    const poll = await fetch(`${server.url}/auth/link/wallet/handle`, { headers: origin });
    expect(poll.headers.get("access-control-allow-origin")).toBeNull();
  });

  test("other methods return 405 with a message", async () => {
    const response = await fetch(`${server.url}/auth/link/wallet/response`);
    expect([response.status, await response.json()]).toEqual([405, { message: expect.any(String) }]);
  });
});

describe("status lists", () => {
  test("a revoked or suspended credential is rejected, and so is one whose status list is unavailable", async () => {
    const outcomes: unknown[] = [];
    for (const statuses of [[0, 0, 1, 2], undefined]) {
      trusted.statuses = statuses;
      for (const idx of [0, 2, 3]) {
        const [user, wallet] = [await at.aUser(), aWallet()];
        const status = { status_list: { uri: `${trusted.url}/statuses`, idx } };
        const credential = await trusted.issue({ holder: wallet.holder, claims: { sub: `status ${statuses} ${idx}`, status } });
        outcomes.push([(await at.link(user, wallet, credential)).body.status, ...(await at.refusals(user))]);
      }
    }
    const unreachable = ["rejected", "status_list_status_not_200"];
    expect(outcomes).toEqual([
      ["linked"],
      ["rejected", "credential_revoked"],
      ["rejected", "credential_suspended"],
      unreachable,
      unreachable,
      unreachable,
    ]);
  });

  test("a status list is fetched only after the issuer's signature is verified", async () => {
    const [user, wallet] = [await at.aUser(), aWallet()];
    const lists = () => trusted.publisher.requests().filter(({ url }) => url?.endsWith("/statuses")).length;
    const before = lists();
    for (const { url } of [trusted, untrusted]) {
      const status = { status_list: { uri: `${url}/statuses`, idx: 1 } };
      await at.link(user, wallet, await trusted.issue({ holder: wallet.holder, by: walletKey(), claims: { status } }));
    }
    expect(await at.refusals(user)).toEqual(["issuer_signature_wrong", "issuer_signature_wrong"]);
    expect([untrusted.publisher.connections(), lists()]).toEqual([0, before]);
  });
});

test("the secrets of a link appear in no log line, audit record or table in clear", async () => {
  const [user, wallet] = [await at.aUser(), aWallet()];
  const credential = await trusted.issue({ holder: wallet.holder, claims: { sub: "canary-subject" } });
  const { handle, invocation_uri } = await at.begin(user);
  const asked = await wallet.open(invocation_uri);
  await wallet.sendPresentation(asked, await wallet.present(credential, asked));
  await at.poll(user, handle);
  const rows = await runText<{ row: string }>(
    server.database.sql,
    "select row_to_json(wallet_links)::text as row from wallet_links union all select row_to_json(audit_records)::text from audit_records",
  );
  const kept = [...rows.map(({ row }) => row), ...server.logged].join("\n");
  for (const secret of [handle, asked.state, asked.nonce, "canary-subject", credential.split("~")[0] ?? ""])
    expect(kept).not.toContain(secret);
});
