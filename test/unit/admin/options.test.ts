import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type AdminClientOptions, createAdminClient } from "@countersign/admin";
import { expect, onTestFinished, test } from "vitest";

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
  [200, "<html></html>", "/trpc/viewer.get answered with status 200, but not as the management API."],
  [401, "<html></html>", "/trpc/viewer.get answered with status 401, but not as the management API."],
  [403, '{"error":"Forbidden"}', "/trpc/viewer.get answered with status 403, but not as the management API."],
  [200, "null", "/trpc/viewer.get answered with status 200, but not as the management API."],
  [502, "<html></html>", "The server cannot answer right now (status 502)."],
] as const)("names address and status of a response %i with %s, which is not by the server", async ([status, body, sentence]) => {
  const proxy = createServer((_, response) => response.writeHead(status).end(body)).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  onTestFinished(() => void proxy.close());
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const error: Error = await createAdminClient({ url, token: "t" })
    .viewer.get.query()
    .catch((cause) => cause);
  expect(error.message).toBe(sentence.startsWith("/") ? `${url}${sentence}` : sentence);
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
