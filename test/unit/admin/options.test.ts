import { type AdminClientOptions, createAdminClient } from "@countersign/admin";
import { expect, test } from "vitest";

const sound: AdminClientOptions = { url: "https://auth.example", token: "t" };
/** Calls it as a program without types may do. */
const given = (options: unknown) => () => createAdminClient(options as AdminClientOptions);

test.for([
  "https://auth.example",
  "https://auth.example/base/",
  "http://localhost:3000",
  "http://auth.localhost:3000",
  "http://127.0.0.1:3000",
  "http://[::1]:3000",
])("takes the URL %s", (url) => {
  expect(given({ ...sound, url })).not.toThrow();
});

test.for([
  ["no options", undefined, "url of createAdminClient must be an absolute URL as a string"],
  ["an empty object", {}, "url of createAdminClient must be an absolute URL as a string"],
  [
    "a URL that is no string",
    { ...sound, url: new URL("https://auth.example") },
    "url of createAdminClient must be an absolute URL as a string",
  ],
  ["a relative URL", { ...sound, url: "auth.example" }, "url of createAdminClient must be an absolute URL as a string"],
  ["a password in the URL", { ...sound, url: "https://ci:secret@auth.example" }, "no user name, no password, no query and no fragment"],
  ["plain http to another host", { ...sound, url: "http://auth.example" }, "must be https (http only on loopback)"],
  ["a name that only begins as an address of loopback", { ...sound, url: "http://127.0.0.1.example" }, "must be https"],
  ["another scheme", { ...sound, url: "ftp://localhost" }, "must be https"],
  ["no token", { url: sound.url }, "token of createAdminClient must be"],
  ["an empty token", { ...sound, token: "" }, "token of createAdminClient must be"],
  ["a misspelt option", { ...sound, timeoutMs: 5 }, 'createAdminClient has no option "timeoutMs"; it takes url, token, timeout'],
  ["a timeout that is no number", { ...sound, timeout: "5s" }, "timeout of createAdminClient must be a whole number of milliseconds"],
  ["a timeout that is over at once", { ...sound, timeout: 0 }, "timeout of createAdminClient must be"],
  ["a timeout that no timer takes", { ...sound, timeout: 2 ** 31 }, "timeout of createAdminClient must be"],
] as const)("refuses %s", ([, options, message]) => {
  expect(given(options)).toThrow(TypeError);
  expect(given(options)).toThrow(message);
  expect(given(options)).not.toThrow("secret");
});

test.for([
  ["a text that no header can carry", "se\ncret"],
  ["nothing", undefined],
  ["an empty text", ""],
])("sends no request where the token is %s, and shows it in no message", async ([, token]) => {
  const admin = createAdminClient({ url: "http://127.0.0.1:1", token: () => token as string });
  const error: unknown = await admin.viewer.get.query().catch((cause: unknown) => cause);
  expect(String(error)).toBe("TRPCClientError: token of createAdminClient must be an access token, or a function that returns one");
});
