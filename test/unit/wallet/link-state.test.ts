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

describe("polling a link", () => {
  const cases: [what: string, of: Partial<WalletLink>, by: { sessionId?: string; returnHash?: ReturnType<typeof aHash> }, does: object][] =
    [
      ["not answered", { state: "pending" }, {}, shows("pending")],
      ["during verification", { state: "answered" }, {}, shows("pending")],
      ["a valid response, polled by the session that started the link", {}, {}, { kind: "complete" }],
      ["a valid response, polled by another session of the user", {}, { sessionId: "t" }, shows("pending")],
      ["the same device without a return secret", { sameDevice: true, returnHash }, {}, shows("pending")],
      ["the same device with a wrong return secret", { sameDevice: true, returnHash }, { returnHash: aHash() }, shows("pending")],
      ["the same device before the wallet responded", { sameDevice: true }, { returnHash }, shows("pending")],
      ["the same device with the return secret", { sameDevice: true, returnHash }, { returnHash }, { kind: "complete" }],
      [
        "the same device with the return secret, in another session",
        { sameDevice: true, returnHash },
        { returnHash, sessionId: "t" },
        shows("pending"),
      ],
      ["expires before a response", { state: "pending", expired: true }, {}, { kind: "expire" }],
      ["expires during verification", { state: "answered", expired: true }, {}, { kind: "expire" }],
      ["expires after a valid response", { expired: true }, {}, { kind: "expire" }],
      ["expires when polled by any session", { expired: true }, { sessionId: "t" }, { kind: "expire" }],
    ];
  test.for(cases)("%s", ([, of, by, does]) => {
    expect(decidePoll(link(of), { ...poller, ...by })).toEqual(does);
  });

  test.for(["linked", "conflict", "expired", "rejected"] as const satisfies LinkState[])("the state %s is final", (state) => {
    for (const expired of [false, true]) expect(decidePoll(link({ state, expired, reason: "r" }), poller)).toEqual(shows(state, "r"));
  });
});
