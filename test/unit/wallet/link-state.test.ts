import { describe, expect, test } from "vitest";
import { decidePoll } from "../../../src/wallet/link-state.ts";
import type { LinkState, WalletLink } from "../../../src/wallet/ports.ts";
import { aHash } from "../../support/accounts.ts";

const returnHash = aHash();
const link = (more: Partial<WalletLink> = {}): WalletLink => ({
  handleHash: aHash(),
  userId: "u",
  sessionId: "s",
  state: "presented",
  reason: undefined,
  over: false,
  expiresAt: 1_000,
  sameDevice: false,
  returnHash: undefined,
  ...more,
});
const asker = { sessionId: "s", returnHash: undefined };
const told = (status: string, reason?: string) => ({ kind: "told", status, reason });

describe("what a look at a link does", () => {
  const cases: [what: string, of: Partial<WalletLink>, by: { sessionId?: string; returnHash?: ReturnType<typeof aHash> }, does: object][] =
    [
      ["nobody has answered", { state: "pending" }, {}, told("pending")],
      ["the answer is being judged", { state: "answered" }, {}, told("pending")],
      ["a good answer, asked by the session that began", {}, {}, { kind: "complete" }],
      ["a good answer, asked by another session of the user", {}, { sessionId: "t" }, told("pending")],
      ["the same device, and nothing brought back", { sameDevice: true, returnHash }, {}, told("pending")],
      ["the same device, and something else brought back", { sameDevice: true, returnHash }, { returnHash: aHash() }, told("pending")],
      ["the same device, and the wallet was told nothing yet", { sameDevice: true }, { returnHash }, told("pending")],
      ["the same device, brought back", { sameDevice: true, returnHash }, { returnHash }, { kind: "complete" }],
      [
        "the same device, brought back by another session",
        { sameDevice: true, returnHash },
        { returnHash, sessionId: "t" },
        told("pending"),
      ],
      ["time is over before an answer", { state: "pending", over: true }, {}, { kind: "expire" }],
      ["time is over while judging", { state: "answered", over: true }, {}, { kind: "expire" }],
      ["time is over after a good answer", { over: true }, {}, { kind: "expire" }],
      ["time is over, whoever asks", { over: true }, { sessionId: "t" }, { kind: "expire" }],
    ];
  test.for(cases)("%s", ([, of, by, does]) => {
    expect(decidePoll(link(of), { ...asker, ...by })).toEqual(does);
  });

  test.for(["linked", "conflict", "expired", "rejected"] as const satisfies LinkState[])("%s stays, whatever time it is", (state) => {
    for (const over of [false, true]) expect(decidePoll(link({ state, over, reason: "r" }), asker)).toEqual(told(state, "r"));
  });
});
