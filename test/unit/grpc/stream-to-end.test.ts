import { expect, test } from "vitest";
import { streamToEnd } from "../../../src/grpc/revocation-streams.ts";

/** Streams by client, the oldest first, each numbered. */
const streamsOf = (clients: string) => new Map([...clients].map((client, number) => [{ number }, client]));
const LIMITS = { all: 6, ofOne: 4 };

test.for([
  ["there is room", "aab", "b", undefined],
  ["a client has as many as one may have", "aaaa", "a", "none"],
  ["all are taken, most of them by one client: its oldest ends", "baaabc", "d", 1],
  ["all are taken, and the caller has as many as the others", "abcdef", "a", "none"],
  ["all are taken, and the caller would have as many as the client with the most", "aaabbc", "b", "none"],
  ["all are taken, and the caller would still have fewer", "aaaabc", "b", 0],
] as const)("%s", ([, open, caller, ended]) => {
  const found = streamToEnd(streamsOf(open), caller, LIMITS);
  expect(typeof found === "object" ? found.number : found).toBe(ended);
});
