import { execFile } from "node:child_process";
import { once } from "node:events";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { type Guard, introspection } from "@countersign/guard";
import { grpcIntrospection, localWithRevocations, type RevocationOptions } from "@countersign/guard/grpc";
import { describe, expect, onTestFinished } from "vitest";
import { grpcChannel } from "../../guard-sdk/src/grpc-channel.ts";
import { endsOf } from "../../guard-sdk/src/revocation-marks.ts";
import { statement } from "../../src/store/sql.ts";
import { aProof, proofKey, thumbprintOf } from "../support/dpop.ts";
import { basicAuth } from "../support/flow.ts";
import { freePort } from "../support/free-port.ts";
import { AS_RESOURCE_SERVER, aGuardClock, guardFor, RESOURCE } from "../support/guard-modes.ts";
import { refusalOf } from "../support/guard-refusal.ts";
import { SERVER_KINDS, serve } from "../support/guard-servers.ts";
import { startServer, type TestServer, test } from "../support/server.ts";

const sql = (server: TestServer, text: string, ...parameters: (string | boolean)[]) =>
  server.database.sql.query(statement(`test_${text.slice(0, 50)}`, text), parameters);

async function aToken(server: TestServer) {
  const ada = await server.signedInUser();
  const tokens = await server.tokens(server.clients.web, ada.browser, { scope: "notes:read offline_access", resource: RESOURCE });
  return { ada, token: tokens.access_token as string, refreshToken: tokens.refresh_token as string };
}

function aGuard({ url, grpc }: Pick<TestServer, "url" | "grpc">, options: Partial<RevocationOptions> = {}) {
  const { clocks, turn } = aGuardClock();
  const verification = localWithRevocations({ ...AS_RESOURCE_SERVER, address: `http://${grpc}`, whenStale: "refuse", ...options });
  const guard = guardFor({ url }, { verification, clocks });
  onTestFinished(() => guard.close());
  return { guard, turn };
}

/** Waits until the token is refused. @returns the reason */
async function revoked(guard: Pick<Guard, "verifyToken">, token: string): Promise<string> {
  for (;;) {
    const reason = await refusalOf(() => guard.verifyToken(token)).then(
      ([, word]) => word,
      () => "good",
    );
    if (reason !== "good") return reason;
    await setTimeout(20);
  }
}

describe("a guard that verifies locally and reads revocation events", () => {
  test("accepts a valid token", async ({ server }) => {
    const { ada, token } = await aToken(server);
    expect(await aGuard(server).guard.verifyToken(token)).toMatchObject({ sub: ada.id, clientId: "web", audience: [RESOURCE] });
  });

  test("accepts no token after it was closed, of which it would learn no revocation, nor does any other guard", async ({ server }) => {
    const { token } = await aToken(server);
    const { grpc } = server;
    const ways = {
      locally: undefined,
      introspection: introspection(AS_RESOURCE_SERVER),
      grpcIntrospection: grpcIntrospection({ ...AS_RESOURCE_SERVER, address: `http://${grpc}` }),
      localWithRevocations: localWithRevocations({ ...AS_RESOURCE_SERVER, address: `http://${grpc}` }),
    };
    for (const [way, verification] of Object.entries(ways)) {
      const guard = guardFor(server, { ...(verification && { verification }) });
      await expect.poll(() => guard.verifyToken(token)).toHaveProperty("sub"); // the first of a server may take longer than a guard waits
      guard.close();
      expect([way, await refusalOf(() => guard.verifyToken(token))]).toEqual([way, ["temporarily_unavailable", "guard_closed"]]);
    }
  });

  test("refuses a revoked token and accepts another", async ({ server }) => {
    const { guard } = aGuard(server);
    const [mine, other] = [await aToken(server), await aToken(server)];
    await guard.verifyToken(mine.token);
    await server.revoke(server.clients.web, mine.token);
    expect(await revoked(guard, mine.token)).toBe("token_revoked");
    expect((await guard.verifyToken(other.token)).sub).toBe(other.ada.id);
  });

  test("refuses a revoked token that is bound to a key, whose proofs it verifies itself", async ({ server }) => {
    const key = proofKey();
    const { browser } = await server.signedInUser();
    const code = await server.code(server.clients.web, browser, { scope: "notes:read", resource: RESOURCE });
    const headers = { authorization: basicAuth("web", "web-secret"), dpop: aProof(key, { url: `${server.url}/oauth/token` }) };
    const token: string = (await server.form("/oauth/token", code, headers)).body.access_token;
    const verification = localWithRevocations({ ...AS_RESOURCE_SERVER, address: `http://${server.grpc}`, whenStale: "refuse" });
    const guard = guardFor(server, { verification, dpop: "required" });
    onTestFinished(() => guard.close());
    const present = () => {
      const dpop = aProof(key, { url: RESOURCE, method: "GET", accessToken: token });
      return guard.verifyRequest(new Request(RESOURCE, { headers: { authorization: `DPoP ${token}`, dpop } }));
    };
    expect(await present()).toMatchObject({ jkt: thumbprintOf(key) });
    await server.revoke(server.clients.web, token);
    expect(await revoked({ verifyToken: present }, token)).toBe("token_revoked");
  });

  test("refuses the access token of a grant when its refresh token is revoked", async ({ server }) => {
    const { guard } = aGuard(server);
    const { token, refreshToken } = await aToken(server);
    await guard.verifyToken(token);
    await server.revoke(server.clients.web, refreshToken);
    expect(await revoked(guard, token)).toBe("token_revoked");
  });

  test("refuses the tokens of a client while it is disabled", async ({ server }) => {
    const { guard } = aGuard(server);
    const { token } = await aToken(server);
    await guard.verifyToken(token);
    await sql(server, "update clients set enabled = $2 where client_id = $1", "web", false);
    expect(await revoked(guard, token)).toBe("token_revoked");
    await sql(server, "update clients set enabled = $2 where client_id = $1", "web", true);
    await expect
      .poll(() =>
        guard.verifyToken(token).then(
          ({ clientId }) => clientId,
          () => undefined,
        ),
      )
      .toBe("web");
  });

  test.for([
    { what: "disabled", change: "enabled = false", back: "enabled = true" },
    {
      what: "given another secret",
      change: "secret_hash = sha256('another')",
      back: `secret_hash = sha256('${AS_RESOURCE_SERVER.clientSecret}')`,
    },
  ])(
    "receives nothing more once its own client is $what: the stream ends, and another is refused",
    async ({ change, back }, { server }) => {
      const channel = grpcChannel({ ...AS_RESOURCE_SERVER, address: `http://${server.grpc}` });
      onTestFinished(() => channel.close());
      const { client, metadata, codec, service } = await channel.open();
      const { path, encode, decode } = codec(service.watchRevocations);
      const watch = () => client.makeServerStreamRequest(path, encode, decode, { cursor: "" }, metadata).resume();
      const stream = watch();
      await once(stream, "data");
      await sql(server, `update clients set ${change} where client_id = $1`, "agent");
      onTestFinished(async () => {
        await sql(server, `update clients set ${back} where client_id = $1`, "agent");
      });
      await once(stream, "end");
      await expect(once(watch(), "end")).rejects.toMatchObject({ details: "invalid_client" });
    },
  );

  test("refuses the own tokens of a deleted client also when another one has its client_id", async ({ server }) => {
    const { guard } = aGuard(server);
    const ownToken = async () => {
      const form = { grant_type: "client_credentials", scope: "notes:read", resource: RESOURCE };
      const { body } = await server.form("/oauth/token", form, { authorization: basicAuth("returning", "worker-secret") });
      return body.access_token as string;
    };
    const register = () =>
      sql(
        server,
        `insert into clients select (jsonb_populate_record(worker, jsonb_build_object(
           'id', gen_random_uuid(), 'client_id', 'returning', 'audience', array[$1::text]))).*
         from clients worker where client_id = 'worker'`,
        RESOURCE,
      );
    await register();
    const old = await ownToken();
    await guard.verifyToken(old);
    await sql(server, "delete from clients where client_id = $1", "returning");
    await register();
    const young = await ownToken();
    expect(await revoked(guard, old)).toBe("token_revoked");
    await expect.poll(() => guard.verifyToken(young).catch(() => undefined)).toMatchObject({ clientId: "returning" });
    expect(await refusalOf(() => guard.verifyToken(old))).toContain("token_revoked");
  });

  test("refuses the tokens of a user whose account was disabled", async ({ server }) => {
    const { guard } = aGuard(server);
    const { ada, token } = await aToken(server);
    await guard.verifyToken(token);
    await sql(server, "update users set enabled = false where id = $1::uuid", ada.id);
    expect(await revoked(guard, token)).toBe("token_revoked");
  });

  test("refuses a token that was revoked before the guard started", async ({ server }) => {
    const { token } = await aToken(server);
    await server.revoke(server.clients.web, token);
    expect(await refusalOf(() => aGuard(server).guard.verifyToken(token))).toEqual(["invalid_token", "token_revoked"]);
  });

  test("returns temporarily_unavailable while it receives no events and introspection fails", async ({ server }) => {
    const { token } = await aToken(server);
    const nowhere = `127.0.0.1:${await freePort()}`;
    const access = { timeoutSeconds: 0.3 };
    const closed = aGuard({ url: server.url, grpc: nowhere }, access);
    expect(await refusalOf(() => closed.guard.verifyToken(token))).toEqual(["temporarily_unavailable", "revocations_stale"]);
    const asking = aGuard({ url: server.url, grpc: nowhere }, { ...access, whenStale: "introspect" });
    expect(await refusalOf(() => asking.guard.verifyToken(token))).toEqual(["temporarily_unavailable", "introspection_unavailable"]);
    expect((await refusalOf(() => asking.guard.verifyToken("rubbish")))[0]).toBe("invalid_token");
  });

  test("introspects or refuses each token, as whenStale says, while its events are stale", async ({ server }) => {
    const [mine, other] = [await aToken(server), await aToken(server)];
    let elapsed = 0;
    // Every reading of this clock is ten seconds later than the last, so that received events are always stale.
    const clocks = { now: () => Math.floor(Date.now() / 1000), elapsed: () => (elapsed += 10) };
    const verification = (whenStale: "introspect" | "refuse") =>
      localWithRevocations({ ...AS_RESOURCE_SERVER, address: `http://${server.grpc}`, whenStale });
    const [asking, closed] = [
      guardFor(server, { verification: verification("introspect"), clocks }),
      guardFor(server, { verification: verification("refuse"), clocks }),
    ];
    onTestFinished(() => [asking, closed].forEach((guard) => void guard.close()));
    expect(await asking.verifyToken(mine.token)).toMatchObject({ sub: mine.ada.id });
    expect(await refusalOf(() => closed.verifyToken(mine.token))).toEqual(["temporarily_unavailable", "revocations_stale"]);
    await server.revoke(server.clients.web, mine.token);
    expect(await refusalOf(() => asking.verifyToken(mine.token))).toEqual(["invalid_token", "token_inactive"]);
    expect(await asking.verifyToken(other.token)).toMatchObject({ sub: other.ada.id });
  });

  test("returns temporarily_unavailable with the cause if its credential is wrong", async ({ server }) => {
    const { token } = await aToken(server);
    const { guard } = aGuard(server, { clientSecret: "wrong", timeoutSeconds: 0.5 });
    const refusal = await guard.verifyToken(token).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: "temporarily_unavailable", reason: "revocations_stale" });
    expect(String((refusal as Error).cause)).toContain("UNAUTHENTICATED");
  });

  test("answers a process that does nothing else while the server is down", async ({ server }) => {
    const { token } = await aToken(server);
    const options = { ...AS_RESOURCE_SERVER, address: `http://127.0.0.1:${await freePort()}`, timeoutSeconds: 0.3, whenStale: "refuse" };
    const program = `
      import { createGuard } from "@countersign/guard";
      import { localWithRevocations } from "@countersign/guard/grpc";
      const verification = localWithRevocations(${JSON.stringify(options)});
      const guard = createGuard({ resource: "${RESOURCE}", authorizationServers: ["${server.url}"], verification });
      console.log(await guard.verifyToken("${token}").catch(({ reason }) => reason));
      guard.close();
    `;
    const args = ["--conditions=countersign", "--input-type=module", "--eval", program];
    expect((await promisify(execFile)(process.execPath, args)).stdout).toBe("revocations_stale\n");
  });
});

test("after a restart of the server a token that was revoked during the restart is refused and others are accepted", async () => {
  const server = await startServer();
  const { guard, turn } = aGuard(server);
  const [lost, kept] = [await aToken(server), await aToken(server)];
  for (const { token } of [lost, kept]) await guard.verifyToken(token);
  await server.restart(async () => {
    turn(6);
    expect(await refusalOf(() => guard.verifyToken(kept.token))).toEqual(["temporarily_unavailable", "revocations_stale"]);
    await sql(
      server,
      "insert into revocations (jti, client_id, expires_at) values ($1, 'web', now() + interval '1 hour')",
      jtiOf(lost.token),
    );
  });
  onTestFinished(() => server.close());
  await expect
    .poll(() =>
      guard.verifyToken(kept.token).then(
        ({ sub }) => sub,
        () => undefined,
      ),
    )
    .toBe(kept.ada.id);
  expect(await refusalOf(() => guard.verifyToken(lost.token))).toEqual(["invalid_token", "token_revoked"]);
});

test.for(["introspect", "refuse"] as const)(
  "a request returns 503 with Retry-After while the server is down, with whenStale %s",
  async (whenStale) => {
    const server = await startServer();
    const { token } = await aToken(server);
    const { guard, turn } = aGuard(server, { whenStale, timeoutSeconds: 0.5 });
    await guard.verifyToken(token);
    await server.close();
    turn(6);
    for (const kind of SERVER_KINDS) {
      const resource = await serve(kind, guard);
      onTestFinished(resource.close);
      const { status, headers } = await fetch(`${resource.origin}/mcp`, { headers: { authorization: `Bearer ${token}` } });
      expect([kind, status, headers.get("retry-after"), headers.get("www-authenticate")]).toEqual([kind, 503, "5", null]);
      expect((await fetch(`${resource.origin}/mcp`)).status).toBe(401);
    }
  },
);

const jtiOf = (token: string): string => JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()).jti;

test("endsOf returns revocation marks for the token, its client, also as an agent, its grant and its user", async () => {
  expect((await endsOf({ jti: "a.b", client_id: "c", sub: "u" }))?.length).toBe(6);
  expect((await endsOf({ jti: "ab", client_id: "c", sub: "c" }))?.length).toBe(3);
});
