import { describe, expect, test } from "vitest";
import { deviceOf } from "../../../src/accounts/device.ts";

describe("browser and system of a User-Agent", () => {
  test.for<[string, string | null, string | null]>([
    ["Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox", "Linux"],
    [
      "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
      "Chrome",
      "Windows",
    ],
    [
      "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0",
      "Microsoft Edge",
      "Windows",
    ],
    [
      "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1",
      "Safari",
      "iOS",
    ],
    ["curl/8.5.0", "curl", null],
    ["node", null, null],
    ["", null, null],
  ])("%s", ([agent, browser, system]) => {
    expect(deviceOf(agent)).toEqual({ browser, system });
  });

  test.for(["<b>x</b>/1 ", "\u202ex/1 ", `${"a".repeat(10_000)}/1 `, "x".repeat(1_000_000), "\u0000/1 ", "(((((((((((((/1 "])(
    "%j yields only short words of plain characters, or null",
    (agent) => {
      for (const word of Object.values(deviceOf(agent))) expect(word ?? "").toMatch(/^[\p{L}\p{N} ._+-]{0,40}$/u);
    },
  );
});
