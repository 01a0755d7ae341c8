import { describe, expect, test } from "vitest";
import { decidePoll } from "../../../src/wallet/linking.ts";
import type { LinkState, WalletLink } from "../../../src/wallet/ports.ts";
import { aHash } from "../../support/accounts.ts";

const returnHash = aHash();
const link = (more: Partial<WalletLink> = {}): WalletLink => ({
  handleHash: aHash(),
  userId: "u",
  sessionId: "s",
  state: "presented",
  reason: undefined,
  expired: false,
  expiresAt: 1_000,
  sameDevice: false,
  returnHash: undefined,
  ...more,
});
const poller = { sessionId: "s", returnHash: undefined };
const shows = (status: string, reason?: string) => ({ kind: "status", status, reason });

describe("what a look at a link does", () => {
  const cases: [what: string, of: Partial<WalletLink>, by: { sessionId?: string; returnHash?: ReturnType<typeof aHash> }, does: object][] =
    [
      ["no one has answered", { state: "pending" }, {}, shows("pending")],
      ["the answer is being judged", { state: "answered" }, {}, shows("pending")],
      ["a good answer, asked by the session that began", {}, {}, { kind: "complete" }],
      ["a good answer, asked by another session of the user", {}, { sessionId: "t" }, shows("pending")],
      ["the same device, and nothing brought back", { sameDevice: true, returnHash }, {}, shows("pending")],
      ["the same device, and something else brought back", { sameDevice: true, returnHash }, { returnHash: aHash() }, shows("pending")],
      ["the same device, and the wallet got nothing yet", { sameDevice: true }, { returnHash }, shows("pending")],
      ["the same device, brought back", { sameDevice: true, returnHash }, { returnHash }, { kind: "complete" }],
      [
        "the same device, brought back by another session",
        { sameDevice: true, returnHash },
        { returnHash, sessionId: "t" },
        shows("pending"),
      ],
      ["expires before a response", { state: "pending", expired: true }, {}, { kind: "expire" }],
      ["expires during verification", { state: "answered", expired: true }, {}, { kind: "expire" }],
      ["expires after a valid response", { expired: true }, {}, { kind: "expire" }],
      ["any session expires a link after its time", { expired: true }, { sessionId: "t" }, { kind: "expire" }],
    ];
  test.for(cases)("%s", ([, of, by, does]) => {
    expect(decidePoll(link(of), { ...poller, ...by })).toEqual(does);
  });

  test.for(["linked", "conflict", "expired", "rejected"] as const satisfies LinkState[])("%s stays, whatever time it is", (state) => {
    for (const expired of [false, true]) expect(decidePoll(link({ state, expired, reason: "r" }), poller)).toEqual(shows(state, "r"));
  });
});
