import { expect, test } from "vitest";
import { isLoopbackAddress, isLoopbackHost, isPrivateAddress, isPublicAddress } from "../../../src/outside/public-address.ts";

test.for([
  ["0.0.0.0", "this network"],
  ["10.0.0.1", "private"],
  ["100.64.0.1", "carrier-grade NAT"],
  ["127.0.0.1", "loopback"],
  ["127.255.255.254", "end of loopback"],
  ["169.254.169.254", "link-local with cloud metadata"],
  ["172.16.0.1", "private"],
  ["172.31.255.255", "private to its end"],
  ["192.0.0.8", "IETF protocol assignments"],
  ["192.0.2.1", "documentation"],
  ["192.88.99.1", "6to4 relay"],
  ["192.168.1.1", "private"],
  ["198.18.0.1", "benchmarking"],
  ["198.19.255.255", "end of benchmarking"],
  ["198.51.100.1", "documentation"],
  ["203.0.113.1", "documentation"],
  ["224.0.0.1", "multicast"],
  ["240.0.0.1", "reserved"],
  ["255.255.255.255", "broadcast"],
  ["::", "unspecified"],
  ["::1", "loopback"],
  ["::127.0.0.1", "IPv4-compatible"],
  ["::8.8.8.8", "IPv4-compatible, even of a public address"],
  ["::ffff:127.0.0.1", "IPv4-mapped loopback"],
  ["::ffff:a9fe:a9fe", "IPv4-mapped link-local in hexadecimal"],
  ["64:ff9b::7f00:1", "NAT64"],
  ["64:ff9b:1::1", "local NAT64"],
  ["100::1", "discard"],
  ["2001::1", "Teredo"],
  ["2001:db8::1", "documentation"],
  ["2002:7f00:1::1", "6to4"],
  ["3fff::1", "documentation"],
  ["5f00::1", "segment routing"],
  ["fc00::1", "unique local"],
  ["fd00::1", "unique local"],
  ["fe80::1", "link-local"],
  ["fe80::1%eth0", "link-local with a zone"],
  ["fec0::1", "site-local"],
  ["ff02::1", "multicast"],
  ["", "an empty string"],
  ["example.test", "a name"],
  ["0x7f.1", "not an address in canonical form"],
] as const)("CIMD §8.6: %s is not public: %s", ([address]) => {
  expect(isPublicAddress(address)).toBe(false);
});

test.for([
  "1.1.1.1",
  "8.8.8.8",
  "172.32.0.1",
  "192.0.1.1",
  "198.20.0.1",
  "223.255.255.255",
  "2606:4700:4700::1111",
  "2a00::1",
  "::ffff:8.8.8.8",
])("%s is public", (address) => {
  expect(isPublicAddress(address)).toBe(true);
});

test.for([
  ["127.0.0.1", true],
  ["127.8.9.1", true],
  ["::1", true],
  ["::ffff:127.0.0.1", true],
  ["::127.0.0.1", false],
  ["10.0.0.1", false],
  ["8.8.8.8", false],
  ["localhost", false],
] as const)("%s is loopback: %s", ([address, expected]) => {
  expect(isLoopbackAddress(address)).toBe(expected);
});

test.for([
  ["localhost", true],
  ["127.0.0.1", true],
  ["::1", true],
  ["0.0.0.0", false],
  ["::", false],
  ["192.168.1.10", false],
  ["auth.example.test", false],
] as const)("a listener at %s is reachable from this machine only: %s", ([host, expected]) => {
  expect(isLoopbackHost(host)).toBe(expected);
});

test.for([
  ["10.0.0.1", true],
  ["100.64.0.1", true],
  ["127.0.0.1", true],
  ["172.31.255.255", true],
  ["192.168.1.1", true],
  ["::1", true],
  ["fd00::1", true],
  ["::ffff:10.0.0.1", true],
  ["169.254.169.254", false],
  ["fe80::1", false],
  ["0.0.0.0", false],
  ["224.0.0.1", false],
  ["64:ff9b::a00:1", false],
  ["8.8.8.8", false],
  ["example.test", false],
] as const)("%s belongs to this host or its network: %s", ([address, isPrivate]) => {
  expect(isPrivateAddress(address)).toBe(isPrivate);
});
