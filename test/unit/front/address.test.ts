import { expect, test } from "vitest";
import { limitKey } from "../../../src/protocol/limit-key.ts";

test.for([
  ["192.0.2.7", "192.0.2.7"],
  ["::ffff:192.0.2.7", "192.0.2.7"],
  ["2001:db8:1:2:3:4:5:6", "20010db800010002::/64"],
  ["2001:db8:1:2::", "20010db800010002::/64"],
  ["::1", "0000000000000000::/64"],
  ["fe80::1%br-0a.100", "fe80000000000000::/64"],
  ["", ""],
] as const)("the rate limit key of %s is %s", ([address, key]) => {
  expect(limitKey(address)).toBe(key);
});
