import fc from "fast-check";
import { expect, test } from "vitest";
import { frontGate, resourceServerCredential } from "../../../src/grpc/caller-auth.ts";

const basic = (text: string | Uint8Array) => `Basic ${Buffer.from(text).toString("base64")}`;
const read = (...authorization: string[]) => resourceServerCredential(authorization, "192.0.2.1").basic;

test.for([
  [basic("id:secret"), "id", "secret"],
  [basic("id:a:b"), "id", "a:b"],
  [basic("urn%3Aa:x%2By+z"), "urn:a", "x+y z"],
  [basic("id:secret").replace("Basic", "bAsIc"), "id", "secret"],
] as const)("%s is parsed as client and secret", ([authorization, clientId, clientSecret]) => {
  expect(read(authorization)).toEqual({ clientId, clientSecret });
});

test("any client_id and secret survive form-encoding", () => {
  const text = fc.string({ unit: "grapheme", minLength: 1 }).filter((value) => !/\p{Cc}/u.test(value));
  fc.assert(
    fc.property(
      text.filter((id) => id !== ""),
      text,
      (clientId, clientSecret) => {
        const half = (value: string) => encodeURIComponent(value);
        expect(read(basic(`${half(clientId)}:${half(clientSecret)}`))).toEqual({ clientId, clientSecret });
      },
    ),
  );
});

test.for([
  [[], "credential_missing"],
  [[basic("a:b"), basic("a:b")], "several_credentials"],
  [["Bearer abc"], "malformed_authorization"],
  [["Basic"], "malformed_authorization"],
  [["Basic a b"], "malformed_authorization"],
  [["Basic YTpi, Basic YTpi"], "malformed_authorization"],
  [[basic("no-colon")], "malformed_basic"],
  [[basic(":secret")], "malformed_basic"],
  [[basic("id:%zz")], "malformed_basic"],
  [[basic("id:\u0000")], "malformed_basic"],
  [[basic(Uint8Array.of(0x69, 0x3a, 0xc3))], "malformed_basic"],
] as const)("%j is refused with invalid_client", ([authorization, reason]) => {
  expect(() => read(...authorization)).toThrow(expect.objectContaining({ code: "invalid_client", reason }));
});

test.for([
  ["nothing configured", { mutualTls: false }, [[], false, true], [["Bearer x"], false, false], [[basic("a:b")], false, false]],
  [
    "a secret",
    { secret: "s", mutualTls: false },
    [["Bearer s"], false, true],
    [["bearer s"], false, false],
    [["Bearer t"], false, false],
    [[], true, false],
    [["Bearer s", "Bearer s"], false, false],
  ],
  [
    "a secret and the previous one",
    { secret: "s", previousSecret: "r", mutualTls: false },
    [["Bearer s"], false, true],
    [["Bearer r"], false, true],
    [["Bearer t"], false, false],
    [["Bearer r", "Bearer s"], false, false],
    [[], true, false],
  ],
  ["mutual TLS", { mutualTls: true }, [[], true, true], [[], false, false], [["Bearer s"], true, false], [[basic("a:b")], true, false]],
  [
    "both",
    { secret: "s", mutualTls: true },
    [["Bearer s"], false, true],
    [[], true, true],
    [["Bearer t"], true, false],
    [[], false, false],
  ],
] as const)("with %s a front is authenticated", ([, access, ...cases]) => {
  const gate = frontGate(access);
  for (const [authorization, certified, admitted] of cases)
    expect([authorization, certified, gate(authorization, certified)]).toEqual([authorization, certified, admitted]);
});
