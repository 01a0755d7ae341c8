import { expect, test } from "vitest";
import { IntrospectionService } from "../../../src/gen/countersign/introspection/v1/introspection_pb.ts";
import { TokenCoreService } from "../../../src/gen/countersign/token/v1/token_pb.ts";
import { REQUEST_BYTES, servedMethod } from "../../../src/grpc/definition.ts";

const MIB = REQUEST_BYTES.introspectBatch;
const introspectBatch = servedMethod(IntrospectionService.method.introspectBatch, MIB);

/** A member of protobuf without content: a message, or a number that no release knows. */
const [EMPTY, UNKNOWN] = [Buffer.from([0x0a, 0]), Buffer.from([0x78, 0])];
const many = (member: Buffer, bytes: number) => Buffer.alloc(bytes - (bytes % 2), member);

test("a batch of half a million empty requests is refused before it is decoded", () => {
  expect(introspectBatch.requestDeserialize(many(EMPTY, MIB)).refusal?.code).toBe("payload_too_large");
  expect(introspectBatch.requestDeserialize(many(EMPTY, 2_000)).message).toMatchObject({ requests: { length: 1_000 } });
});

test("a front has any number of calls in one message", () => {
  const converse = servedMethod(TokenCoreService.method.converse, MIB);
  expect(converse.requestDeserialize(many(EMPTY, 10_000)).message).toMatchObject({ calls: { length: 5_000 } });
});

test("unknown members of a request are not kept", () => {
  const content = many(UNKNOWN, 2_000);
  const request = Buffer.concat([Buffer.from([0x0a, 0xd0, 0x0f]), content]);
  const { message } = introspectBatch.requestDeserialize(request);
  expect(message).toMatchObject({ requests: [{ token: "" }] });
  expect(JSON.stringify(message)).not.toContain("unknown");
});
