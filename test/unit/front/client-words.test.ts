import { describe, expect, test } from "vitest";
import { isOnThisDevice, shownHost, shownName, shownResource } from "../../../src/front/pages/views/words.ts";

describe("ASVS 10.7.2: names and hosts of clients are shown without deceptive characters", () => {
  test.for([
    ["Notes", "Notes"],
    ["  Field \t Notes ", "Field Notes"],
    ["Pay\u202eLAP\u202c", "PayLAP"],
    ["Go\u200dogle\u200b", "Google"],
    ["a\u0000b\u001b[31mc\u0085d", "ab[31mcd"],
    ["\u2066\u2069\u200e", "An application without a name"],
    ["e\u0301\u0301\u0301\u0301\u0301\u0301", "e\u0301\u0301\u0301"],
    ["x".repeat(90), `${"x".repeat(80)}…`],
    ["\ud800", "\ufffd"],
  ] as const)("%j is shown as %j", ([name, expected]) => {
    expect(shownName("en", name)).toBe(expected);
  });

  test("hosts are shown in punycode", () => {
    expect(shownHost("https://аpple.example/cb")).toBe("xn--pple-43d.example");
    expect(shownHost("http://127.0.0.1:7777/cb")).toBe("127.0.0.1:7777");
    expect(shownHost("com.example.app:/cb")).toBe("com.example.app:");
    expect(shownHost("https://good.test@evil.test/cb")).toBe("evil.test");
    expect(shownHost("cursor://bank.example/cb")).toBe("cursor:");
    expect(shownHost("com.example.app:/cb")).toBe("com.example.app:");
  });

  test.for([
    ["https://bücher.example/mcp?x=1", "xn--bcher-kva.example/mcp?x=1"],
    ["http://127.0.0.1:7777/", "127.0.0.1:7777"],
    ["http://bank.example", "http://bank.example/"],
    ["x://bank.example", "x://bank.example"],
    ["x://127.0.0.1/mcp", "x://127.0.0.1/mcp"],
    ["urn:mail", "urn:mail"],
    ["mail", "mail"],
  ] as const)("the resource %s is shown as %s", ([resource, shown]) => {
    expect(shownResource(resource)).toBe(shown);
  });

  test("redirect URIs on the user's device are recognized", () => {
    const local = ["http://127.0.0.1:1/cb", "http://[::1]:1/cb", "http://localhost/cb", "com.example.app:/cb", "cursor://bank.example/cb"];
    for (const uri of local) expect([uri, isOnThisDevice(uri)]).toEqual([uri, true]);
    for (const uri of ["https://localhost.example/cb", "https://bank.example/cb", "cb"])
      expect([uri, isOnThisDevice(uri)]).toEqual([uri, false]);
  });
});
