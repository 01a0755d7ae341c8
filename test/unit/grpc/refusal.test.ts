import { Metadata, status } from "@grpc/grpc-js";
import { describe, expect, test } from "vitest";
import { CATALOGUE, Refusal, type RefusalCode } from "../../../src/errors.ts";
import { asRefusal, statusOf } from "../../../src/grpc/refusal.ts";

const onTheWire = (code: number, metadata = new Metadata()) =>
  Object.assign(new Error("as grpc-js throws it"), { code, details: "", metadata });

test.for(Object.keys(CATALOGUE) as RefusalCode[])("%s has the status of the catalogue and is restored from it", (code) => {
  const wireError = statusOf(
    new Refusal(code, "a_private_reason", { description: "words", retryAfter: 2.5, cause: new Error("private too") }),
  );
  expect(wireError.code).toBe(CATALOGUE[code].grpc);
  const wire = JSON.stringify([
    wireError.details,
    wireError.metadata.toHttp2Headers(),
    Buffer.concat(wireError.metadata.get("grpc-status-details-bin") as Buffer[]).toString(),
  ]);
  expect(wire).not.toContain("private");
  const back = asRefusal(onTheWire(wireError.code, wireError.metadata));
  expect([back?.code, back?.detail.description, back?.detail.retryAfter]).toEqual([code, "words", 3]);
});

test("details that a refusal does not have are absent after transmission", () => {
  const { metadata, code } = statusOf(new Refusal("invalid_grant", "code_expired"));
  const { cause: _, ...detail } = asRefusal(onTheWire(code, metadata))?.detail ?? {};
  expect(detail).toEqual({});
});

test("a fault is transmitted without its text", () => {
  const wireError = statusOf(new Error("secret"));
  expect([wireError.code, wireError.details, wireError.metadata.getMap()]).toEqual([status.INTERNAL, "internal error", {}]);
  expect(asRefusal(onTheWire(wireError.code, wireError.metadata))).toBeUndefined();
});

test.for([status.UNAVAILABLE, status.DEADLINE_EXCEEDED, status.CANCELLED])(
  "status %d without details is temporarily_unavailable",
  (code) => {
    expect(asRefusal(onTheWire(code))?.code).toBe("temporarily_unavailable");
  },
);

test("a front that is not admitted is no refusal of its client", () => {
  expect(asRefusal(onTheWire(status.UNAUTHENTICATED))).toMatchObject({ code: "temporarily_unavailable", reason: "front_not_admitted" });
});

test("the transport's size limit is payload_too_large", () => {
  expect(asRefusal(onTheWire(status.RESOURCE_EXHAUSTED))?.code).toBe("payload_too_large");
});

describe("is not a refusal", () => {
  test.for([
    ["an ordinary error", new Error("x")],
    ["undefined", undefined],
    ["a status without details", onTheWire(status.INTERNAL)],
    ["an unknown method", onTheWire(status.UNIMPLEMENTED)],
  ] as const)("%s", ([, thrown]) => {
    expect(asRefusal(thrown)).toBeUndefined();
  });

  test.for([
    ["invalid protobuf", Buffer.from([0xff, 0xff, 0xff])],
    ["a detail of another type", Buffer.from("1a0a0a08782e792f7a2e5a", "hex")],
    ["an empty status", Buffer.alloc(0)],
  ] as const)("a status with details that are %s", ([, bytes]) => {
    const metadata = new Metadata();
    metadata.set("grpc-status-details-bin", bytes);
    expect(asRefusal(onTheWire(status.INTERNAL, metadata))).toBeUndefined();
    expect(asRefusal(onTheWire(status.UNAVAILABLE, metadata))?.code).toBe("temporarily_unavailable");
  });

  test("an unknown error code", () => {
    const { metadata } = statusOf(new Refusal("invalid_grant", "x"));
    const packed = (metadata.get("grpc-status-details-bin")[0] as Buffer).toString("latin1").replaceAll("invalid_grant", "invalid_grank");
    metadata.set("grpc-status-details-bin", Buffer.from(packed, "latin1"));
    expect(asRefusal(onTheWire(status.FAILED_PRECONDITION, metadata))).toBeUndefined();
  });
});
