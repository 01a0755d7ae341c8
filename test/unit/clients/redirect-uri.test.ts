import { describe, expect, test } from "vitest";
import { type AuthMethod, ENVIRONMENTS } from "../../../src/clients/client.ts";
import { isPermittedRedirectUri, loopbackMistake, matchesRedirectUri, redirectUriFault } from "../../../src/clients/redirect-uri.ts";

describe("matching of redirect URIs", () => {
  const registered = "https://c.example.test/cb";

  test.for([
    [registered, true],
    [`${registered}/`, false],
    [`${registered}?x=1`, false],
    [`${registered}#f`, false],
    ["https://C.example.test/cb", false],
    ["https://c.example.test:443/cb", false],
    ["https://c.example.evil.test/cb", false],
    ["https://c.example.test.evil.test/cb", false],
    ["https://c.example.test@evil.test/cb", false],
    ["https://c.example.test/cb/..;/x", false],
    ["https://c.example.test/cb/%2e%2e/x", false],
    ["https://c.example.test/x/../cb", false],
    ["https://c.example.test/%63b", false],
    ["http://c.example.test/cb", false],
    [" https://c.example.test/cb", false],
    ["https://c.example.test/cb\n", false],
    ["", false],
  ] as const)("presented %s: %s", ([presented, expected]) => {
    expect(matchesRedirectUri(["https://other.test/", registered], presented)).toBe(expected);
  });

  test.for([
    ["http://127.0.0.1/cb", "http://127.0.0.1:51234/cb", true],
    ["http://127.0.0.1:3000/cb", "http://127.0.0.1:51234/cb", true],
    ["http://127.0.0.1:3000/cb", "http://127.0.0.1/cb", true],
    ["http://[::1]/cb", "http://[::1]:51234/cb", true],
    ["http://localhost/callback", "http://localhost:51234/callback", true],
    ["http://localhost", "http://localhost:51234", true],
    ["http://localhost/cb?x=1", "http://localhost:1/cb?x=1", true],
    ["http://localhost:3000/cb", "http://localhost:51234/cb", false],
    ["http://localhost:3000/cb", "http://localhost/cb", false],
    ["http://127.0.0.1/cb", "http://localhost:51234/cb", false],
    ["http://localhost/cb", "http://127.0.0.1:51234/cb", false],
    ["http://127.0.0.1/cb", "http://127.0.0.2:51234/cb", false],
    ["http://127.0.0.1/cb", "http://[::1]:51234/cb", false],
    ["http://127.0.0.1/cb", "https://127.0.0.1:51234/cb", false],
    ["https://127.0.0.1/cb", "https://127.0.0.1:51234/cb", false],
    ["http://127.0.0.1/cb", "http://127.0.0.1:51234/cb/", false],
    ["http://127.0.0.1/cb", "http://127.0.0.1:51234/cb?x", false],
    ["http://127.0.0.1/cb", "http://127.0.0.1:51234/cb#f", false],
    ["http://127.0.0.1/cb", "http://127.0.0.1:99999/cb", false],
    ["http://127.0.0.1/cb", "http://127.0.0.1:0/cb", false],
    ["http://127.0.0.1/cb", "http://127.0.0.1:5a/cb", false],
    ["http://127.0.0.1/cb", "http://x@127.0.0.1:5/cb", false],
    ["http://127.0.0.1/cb", "http://127.0.0.1:5@evil.test/cb", false],
    ["http://127.0.0.1/cb", "http://127.0.0.1.evil.test/cb", false],
    ["http://c.example.test/cb", "http://c.example.test:8080/cb", false],
    ["com.example.app:/cb", "com.example.app:/cb", true],
  ] as const)("registered %s, presented %s: %s", ([uri, presented, expected]) => {
    expect(matchesRedirectUri([uri], presented)).toBe(expected);
  });

  test.for([
    ["http://localhost:3000/cb", "http://localhost:51234/cb", expect.stringContaining("for localhost the port counts")],
    ["http://127.0.0.1/cb", "http://localhost:51234/cb", "localhost, 127.0.0.1 and [::1] are different hosts"],
    ["http://localhost/cb", "http://[::1]/cb", "localhost, 127.0.0.1 and [::1] are different hosts"],
    ["http://localhost:3000/cb", "http://localhost:51234/callback", undefined],
    ["http://127.0.0.1/cb", "http://127.0.0.1:99999/cb", undefined],
    ["http://localhost/cb", "http://localhost:99999/cb", undefined],
    ["https://app.example.test/cb", "http://localhost/cb", undefined],
    ["http://localhost/cb", "https://app.example.test/cb", undefined],
  ] as const)("of %s and %s it is said what differs in loopback alone", ([uri, presented, mistake]) => {
    expect(loopbackMistake([uri], presented)).toEqual(mistake);
  });
});

/** For development, staging, production and unset, in this order. */
const YES = [true, true, true, true];
const NO = [false, false, false, false];
const INSIDE = [true, true, false, false];
const NATIVE = [true, true, false, true];

const permittedFor = (uri: string, tokenEndpointAuthMethod: AuthMethod) =>
  [...ENVIRONMENTS, null].map((environment) => isPermittedRedirectUri(uri, { environment, tokenEndpointAuthMethod }));

describe("redirect URIs permitted by environment", () => {
  test.for([
    ["https://c.example/cb", YES],
    ["https://c.example", YES],
    ["https://c.example:8443/cb?x=a%20b", YES],
    ["https://Client.example.com:443/cb", YES],
    ["https://xn--bcher-kva.example/cb", YES],
    ["https://203.0.113.7/cb", INSIDE],
    ["https://8.8.8.8/cb", YES],
    ["https://localhost/cb", INSIDE],
    ["https://127.0.0.1:8443/cb", INSIDE],
    ["https://10.0.0.7/cb", INSIDE],
    ["https://192.168.1.1/cb", INSIDE],
    ["https://[::1]/cb", INSIDE],
    ["https://[fd00::1]/cb", INSIDE],
    ["https://[::ffff:10.0.0.1]/cb", INSIDE],
    ["https://intranet/cb", INSIDE],
    ["https://app.localhost/cb", INSIDE],
    ["https://printer.local/cb", INSIDE],
    ["http://localhost/cb", NATIVE],
    ["http://localhost:3000/cb", NATIVE],
    ["http://127.0.0.1/cb", NATIVE],
    ["http://[::1]:51234/cb", NATIVE],
    ["http://127.0.0.2/cb", NO],
    ["http://c.example/cb", NO],
    ["http://localhost.evil.test/cb", NO],
    ["http://10.0.0.7/cb", NO],
    ["com.example.app:/cb", YES],
    ["com.example.app://host/cb", YES],
    ["com.example.app://user@host/cb", NO],
    ["javascript:alert(1)", NO],
    ["JaVaScRiPt:alert(1)", NO],
    [" javascript:alert(1)", NO],
    ["java\tscript:alert(1)", NO],
    ["\u0001https://c.example/cb", NO],
    ["https://c.example/cb\n", NO],
    ["data:text/html,x", NO],
    ["file:///etc/passwd", NO],
    ["vbscript:x", NO],
    ["blob:https://c.example/x", NO],
    ["https://c.example/cb#f", NO],
    ["https://*.example/cb", NO],
    ["https://c.example/*", NO],
    ["https://user@c.example/cb", NO],
    ["https://user:pw@c.example/cb", NO],
    ["https://c.example\\@evil.test/cb", NO],
    ["https:/c.example/cb", NO],
    ["https:c.example", NO],
    ["https://", NO],
    ["https:///cb", NO],
    ["//c.example/cb", NO],
    ["/cb", NO],
    ["", NO],
    ["https://c.example:0/cb", NO],
    ["https://c.example:65536/cb", NO],
    ["https://c.example:/cb", NO],
    ["https://c.example./cb", NO],
    ["https://c..example/cb", NO],
    ["https://0x7f.1/cb", NO],
    ["https://2130706433/cb", NO],
    ["https://127.1/cb", NO],
    ["https://bücher.example/cb", NO],
    ["https://c.exa%6dple/cb", NO],
    ["https://[::1/cb", NO],
    ["https://[zz]/cb", NO],
  ] as const)("%s", ([uri, expected]) => {
    expect(permittedFor(uri, "client_secret_basic")).toEqual(expected);
    expect(permittedFor(uri, "none")).toEqual(expected);
  });
});

describe("private-use schemes without a dot", () => {
  test.for([
    "cursor://anysphere.cursor-mcp/oauth/callback",
    "vscode://vscode.github-authentication/did-authenticate",
    "vscode-insiders://callback",
    "myapp:/cb",
    "MyApp:/cb",
    "a+b-1:/cb",
  ])("%s is permitted for public clients only", (uri) => {
    expect(permittedFor(uri, "none")).toEqual(YES);
    for (const method of ["client_secret_basic", "client_secret_post", "private_key_jwt"] as const)
      expect(permittedFor(uri, method)).toEqual(NO);
  });

  test.for([
    ..."javascript data vbscript file blob about filesystem view-source ftp ws wss http https mailto tel sms intent chrome edge".split(" "),
    ..."moz-extension chrome-extension safari-web-extension ms-settings ms-appinstaller microsoft-edge x-apple.systempreferences".split(
      " ",
    ),
    ..."search-ms shell jar ssh telnet ldap smb facetime itms-services market x-safari-https googlechrome res mhtml livescript".split(" "),
  ])("%s: is never permitted, in upper or lower case", (scheme) => {
    for (const uri of [
      `${scheme}:x`,
      `${scheme.toUpperCase()}:x`,
      `${scheme}://x/cb`.replace(/^http:/, "HTTP:").replace(/^https:/, "Https:"),
    ])
      expect([uri, permittedFor(uri, "none")]).toEqual([uri, NO]);
  });

  test.for(["1app:/cb", "-app:/cb", "my_app:/cb", "myapp", ":/cb", "myapp://user@host/cb", "myapp:/cb#f", "myapp:/*"])(
    "%s is not permitted",
    (uri) => expect(permittedFor(uri, "none")).toEqual(NO),
  );
});

describe("query parameters with names of the authorization response", () => {
  test.for([
    "code=x",
    "code",
    "a=1&state=",
    "iss=https%3A%2F%2Fevil.test",
    "error=access_denied",
    "error_description=x",
    "error_uri=https://evil.test/",
    "%63ode=x",
    "c%6Fde=x",
    "%73%74%61%74%65=x",
    "a=1;code=x",
    "+code=x",
    "code%5B%5D=x",
    "?code=x",
  ])("%s is refused", (query) => {
    for (const uri of [`https://c.example/cb?${query}`, `http://127.0.0.1/cb?${query}`, `com.example.app:/cb?${query}`]) {
      expect([uri, permittedFor(uri, "none")]).toEqual([uri, NO]);
      expect(redirectUriFault(uri, { environment: null, tokenEndpointAuthMethod: "none" })).toMatch(
        /query parameter named code, state, iss/,
      );
    }
  });

  test.for([
    "x=code",
    "codes=1",
    "Code=1",
    "STATE=1",
    "my_state=1",
    "x=%26code%3D1",
    "zip-code=1",
    "%2563ode=1",
    "bad=%zz",
    "",
    "error.x=1",
  ])("%s is accepted", (query) => expect(permittedFor(`https://c.example/cb?${query}`, "none")).toEqual(YES));
});

test.for(["https://user:pw@c.example/cb", "https://user@c.example/cb", "http://@127.0.0.1/cb", "com.example.app://user@cb"])(
  "RFC 3986 §3.2.1: %s is refused for its user information",
  (uri) => {
    expect(redirectUriFault(uri, { environment: null, tokenEndpointAuthMethod: "none" })).toBe(
      "must not have user information, such as user:password@, before the host",
    );
  },
);

test("a scheme that only its system handles is refused for the scheme, also with an @ in the path", () => {
  const fault = redirectUriFault("mailto:a@c.example", { environment: null, tokenEndpointAuthMethod: "none" });
  expect(fault).toBe("has a scheme that is not permitted for this client");
});

test.for([
  ["http://c.example/cb", "development", "must be https, or http on localhost, 127.0.0.1 or [::1]"],
  ["http://c.example/cb", "staging", "must be https, or http on localhost, 127.0.0.1 or [::1]"],
  ["http://127.0.0.1/cb", "production", "must be https on a public host, as the client is in production"],
  ["https://intranet/cb", "production", "must be https on a public host, as the client is in production"],
  ["https://intranet/cb", null, "must be https on a public host, or http on localhost, 127.0.0.1 or [::1]"],
] as const)("the fault of %s in the environment %s says what is permitted there", ([uri, environment, fault]) => {
  expect(redirectUriFault(uri, { environment, tokenEndpointAuthMethod: "none" })).toBe(fault);
});
