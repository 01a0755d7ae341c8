import { expect, test } from "vitest";
import { missingProof } from "../../../src/management/trpc.ts";

const CONSOLE = "countersign-console";
const MFA = "urn:countersign:mfa";

test.for([
  { about: "a token of the command line", bearer: { clientId: "countersign-cli" }, factor: true, missing: undefined },
  { about: "a console token without a sign-in time", bearer: { clientId: CONSOLE }, factor: false, missing: { maxAge: 300 } },
  { about: "a fresh proof", bearer: { clientId: CONSOLE, proofAge: 300 }, factor: false, missing: undefined },
  { about: "an old proof", bearer: { clientId: CONSOLE, proofAge: 301 }, factor: false, missing: { maxAge: 300 } },
  {
    about: "a fresh password of a user with a second factor",
    bearer: { clientId: CONSOLE, proofAge: 1, acr: "urn:countersign:pwd" },
    factor: true,
    missing: { maxAge: 300, acrValues: MFA },
  },
  { about: "a fresh second factor", bearer: { clientId: CONSOLE, proofAge: 1, acr: MFA }, factor: true, missing: undefined },
  { about: "a fresh passkey", bearer: { clientId: CONSOLE, proofAge: 1, acr: "phr" }, factor: true, missing: undefined },
])("$about lacks $missing", ({ bearer, factor, missing }) => {
  expect(missingProof(bearer, factor)).toEqual(missing);
});
