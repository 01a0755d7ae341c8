import { expect, test } from "vitest";
import { fetchTarget } from "../../../src/outside/public-address.ts";

const outcome = (url: string, loopbackAllowed = false, ownUrl = "https://auth.example.test", plainLoopback = false) => {
  try {
    return fetchTarget(url, { ownUrl, loopbackAllowed, plainLoopback }).href;
  } catch (error) {
    return (error as { reason: string }).reason;
  }
};

test.for([
  ["https://client.example.test/doc.json", "https://client.example.test/doc.json"],
  ["https://client.example.test:8443/doc.json", "https://client.example.test:8443/doc.json"],
  ["http://client.example.test/doc.json", "scheme_not_https"],
  ["ftp://client.example.test/doc.json", "scheme_not_https"],
  ["file:///etc/passwd", "scheme_not_https"],
  ["client.example.test", "url_malformed"],
  ["https://", "url_malformed"],
  ["https://user@client.example.test/", "userinfo_in_url"],
  ["https://:secret@client.example.test/", "userinfo_in_url"],
  ["https://127.0.0.1/", "host_is_an_address"],
  ["https://8.8.8.8/", "host_is_an_address"],
  ["https://127.1/", "host_is_an_address"],
  ["https://0x7f.1/", "host_is_an_address"],
  ["https://0177.0.0.1/", "host_is_an_address"],
  ["https://2130706433/", "host_is_an_address"],
  ["https://①②⑦.⓪.⓪.①/", "host_is_an_address"],
  ["https://[::1]/", "host_is_an_address"],
  ["https://[::ffff:169.254.169.254]/", "host_is_an_address"],
  ["https://client.example.test./", "host_malformed"],
  ["https://127.0.0.1./", "host_is_an_address"],
  ["https://localhost/", "host_is_local"],
  ["https://LOCALHOST/", "host_is_local"],
  ["https://api.localhost/", "host_is_local"],
  ["https://printer.local/", "host_is_local"],
  ["https://metadata.google.internal/", "host_is_local"],
  ["https://auth.example.test/x", "host_is_our_own"],
  ["https://AUTH.example.test:8443/x", "host_is_our_own"],
] as const)("security.md guarded fetch: %s yields %s", ([url, expected]) => {
  expect(outcome(url)).toBe(expected);
});

test.for([
  ["https://localhost:8443/doc", "https://localhost:8443/doc"],
  ["https://api.localhost/doc", "https://api.localhost/doc"],
  ["https://localhost:3000/doc", "host_is_our_own"],
  ["https://127.0.0.1:8443/doc", "host_is_an_address"],
  ["https://[::1]:8443/doc", "host_is_an_address"],
  ["https://printer.local/", "host_is_local"],
  ["http://localhost:8443/doc", "scheme_not_https"],
] as const)("where loopback is allowed, %s yields %s", ([url, expected]) => {
  expect(outcome(url, true, "http://localhost:3000")).toBe(expected);
});

test.for([
  ["http://localhost:8443/doc", "http://localhost:8443/doc"],
  ["http://127.0.0.1:8443/doc", "http://127.0.0.1:8443/doc"],
  ["http://localhost:3000/doc", "host_is_our_own"],
  ["http://client.example.test/doc", "scheme_not_https"],
  ["http://10.0.0.1/doc", "scheme_not_https"],
  ["https://10.0.0.1/doc", "host_is_an_address"],
  ["ftp://localhost/doc", "scheme_not_https"],
] as const)("where http to loopback is allowed, %s yields %s", ([url, expected]) => {
  expect(outcome(url, true, "http://localhost:3000", true)).toBe(expected);
});

test("http needs both loopbackAllowed and plainLoopback", () => {
  expect(outcome("http://localhost:8443/doc", false, "http://localhost:3000", true)).toBe("scheme_not_https");
});

const PRIVATE = { ownUrl: "http://localhost:3000", loopbackAllowed: true, plainLoopback: true, privateAllowed: true };

test.for([
  ["https://kubernetes.default.svc.cluster.local/keys", "https://kubernetes.default.svc.cluster.local/keys"],
  ["https://10.96.0.1/keys", "https://10.96.0.1/keys"],
  ["https://[fd00::1]/keys", "https://[fd00::1]/keys"],
  ["http://127.0.0.1:8001/keys", "http://127.0.0.1:8001/keys"],
  ["http://10.96.0.1/keys", "scheme_not_https"],
  ["http://kubernetes.default.svc/keys", "scheme_not_https"],
  ["https://169.254.169.254/keys", "host_is_an_address"],
  ["https://8.8.8.8/keys", "host_is_an_address"],
  ["http://localhost:3000/keys", "host_is_our_own"],
] as const)("where an operator allowed private addresses, %s yields %s", ([url, expected]) => {
  const reached = () => fetchTarget(url, PRIVATE).href;
  if (expected === url) expect(reached()).toBe(expected);
  else expect(reached).toThrow(expected);
});
