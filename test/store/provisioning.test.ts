import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Refusal } from "../../src/errors.ts";
import { parseProvisionFile } from "../../src/management/provision.ts";
import { hashSecret } from "../../src/random.ts";
import { authorizationCodes } from "../../src/store/authorization-codes.ts";
import { clientDirectory } from "../../src/store/clients.ts";
import type { Database } from "../../src/store/orm.ts";
import { provisioner } from "../../src/store/provisioning.ts";
import { refreshFamilies } from "../../src/store/refresh-families.ts";
import { sessions } from "../../src/store/sessions.ts";
import { users } from "../../src/store/users.ts";
import { databaseKinds, overtaken, runText } from "../support/database.ts";
import { aCode, anOpenFamily, aScene } from "../support/grants.ts";
import { A_SECRET_BOX } from "../support/secret-box.ts";

/** A readable stand-in for password hashes: what is stored and when matters here, not the hash. */
const passwords = {
  hash: async (password: string) => `hash of ${password}`,
  verify: async (hash: string | null | undefined, password: string) => ({ kind: hash === `hash of ${password}` ? "right" : "wrong" }),
};

const SERVER = { issuer: "https://id.example.test", box: A_SECRET_BOX };

const plan = (more: object) => parseProvisionFile(JSON.stringify(more));
const none = { created: 0, changed: 0, unchanged: 0 };

describe.for(databaseKinds)("provisioning on $name", ({ name, fresh }) => {
  let database: Database;
  beforeAll(async () => {
    database = await fresh();
  });
  afterAll(() => database.close());
  const apply = (more: object) => provisioner(database.sql, passwords, SERVER).apply(plan(more));

  const recorded = (event: string) =>
    runText<{ reason: string | null; actor: string; client: string | null; scope: string | null; about: string[] | null }>(
      database.sql,
      "select reason, actor_id as actor, client_id as client, scope, resources as about from audit_records where event = $1 order by id",
      [event],
    );

  test("the sign-in that a realm demands is set, kept where the file does not name it, and removed by null", async () => {
    const acr = () => runText(database.sql, "select required_acr from realms where name = 'guarded'");
    const realm = (more: object = {}) => apply({ realms: [{ name: "guarded", ...more }] });
    expect((await realm({ requiredAcr: "phr" })).realms).toEqual({ ...none, created: 1 });
    for (const unchanged of [{}, { requiredAcr: "phr" }]) expect((await realm(unchanged)).realms).toEqual({ ...none, unchanged: 1 });
    expect(await acr()).toEqual([{ required_acr: "phr" }]);
    expect((await realm({ requiredAcr: null })).realms).toEqual({ ...none, changed: 1 });
    expect(await acr()).toEqual([{ required_acr: null }]);
    expect(() => plan({ realms: [{ name: "guarded", requiredAcr: "gold" }] })).toThrow("realms.0.requiredAcr");
  });

  // The embedded database runs one transaction after the other.
  if (name === "postgresql")
    test("a change of a realm that a file takes back has a record, also where the two meet", async () => {
      const realm = (requiredAcr: string | null) => apply({ realms: [{ name: "contested", requiredAcr }] });
      await realm(null);
      const waits = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
      let applying: ReturnType<typeof realm> | undefined;
      await database.sql.transaction(async (tx) => {
        await runText(tx, "update realms set required_acr = 'phr' where name = 'contested'");
        applying = realm(null);
        await expect.poll(() => runText(database.sql, waits)).toHaveLength(1);
      });
      expect((await applying)?.realms).toEqual({ ...none, changed: 1 });
    });

  test("a file applied by four processes at once creates its client once, and a second application changes nothing", async () => {
    const file = {
      realms: [{ name: "partners", dynamicRegistrationScopes: ["openid"] }],
      users: [{ email: "op@example.test", password: "correct horse battery", role: "operator" }],
      clients: [
        {
          clientId: "crm-agent",
          clientSecret: "a secret of more than thirty-two characters",
          name: "CRM agent",
          scopes: ["crm:read"],
          grantTypes: ["client_credentials"],
          tokenEndpointAuthMethod: "client_secret_basic",
          ownerEmail: "OP@example.test",
          jwks: { keys: [{ kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" }] },
        },
      ],
    };
    const outcomes = await Promise.allSettled(Array.from({ length: 4 }, () => apply(file)));
    const summaries = outcomes.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    expect(summaries.filter(({ clients }) => clients.created === 1)).toHaveLength(1);
    const unchanged = { ...none, unchanged: 1 };
    expect(await apply(file)).toEqual({ realms: unchanged, users: unchanged, clients: unchanged });
    const owner = await users(database.sql).byEmail("op@example.test");
    expect(owner?.user.role).toBe("operator");
    expect(await clientDirectory(database.sql).byClientId("crm-agent")).toMatchObject({ origin: "operator", ownerId: owner?.user.id });
  });

  test("a user is opened in the realm that the file names, stays where it names none, and is moved where it names another one", async () => {
    const email = "placed@example.test";
    const user = (realm?: string) => ({ realms: [{ name: "places" }], users: [{ email, password: "correct horse battery", realm }] });
    const preview = (file: object) => provisioner(database.sql, passwords, SERVER).preview(plan(file));
    const realmOf = () =>
      runText(database.sql, "select realms.name from users join realms on realms.id = realm_id where email = $1", [email]);
    expect((await apply(user("places"))).users).toEqual({ ...none, created: 1 });
    for (const again of [user(), user("places")]) expect((await apply(again)).users).toEqual({ ...none, unchanged: 1 });
    expect(await realmOf()).toEqual([{ name: "places" }]);
    const members = [{ member: "realm", before: "places", after: "default" }];
    expect(await preview(user("default"))).toEqual([{ change: "changed", section: "users", entry: email, members }]);
    expect((await apply(user("default"))).users).toEqual({ ...none, changed: 1 });
    expect(await realmOf()).toEqual([{ name: "default" }]);
    const moved = { reason: "changed", about: [expect.stringMatching(/^realm:[0-9a-f-]{36}$/)] };
    expect((await recorded("user.provisioned")).at(-1)).toMatchObject(moved);
    await expect(apply(user("nowhere"))).rejects.toMatchObject({
      code: "invalid_request",
      detail: { issues: [{ path: "users.0.realm", message: "names no realm" }] },
    });
  });

  test("a new realm gets no name with blanks around it or invisible characters, and one of an earlier release is changed by it", async () => {
    for (const [name, message] of [
      [" outskirts", "must not begin or end with a blank"],
      ["out\u200bskirts", "must not contain control, bidirectional or invisible characters"],
      ["Default", "is the name of another realm but for upper and lower case"],
    ] as const)
      await expect(apply({ realms: [{ name: "default" }, { name }] })).rejects.toMatchObject({
        code: "invalid_request",
        detail: { issues: [{ path: "realms.1.name", message }] },
      });
    await runText(database.sql, "insert into realms (name) values (' of old')");
    const changed = await apply({ realms: [{ name: " of old", requiredAcr: "phr" }], users: [] });
    expect(changed.realms).toEqual({ ...none, changed: 1 });
  });

  test("two processes at once set the password of a new user once", async () => {
    const file = { users: [{ email: "raced@example.test", password: "correct horse battery" }] };
    const outcomes = await Promise.all([apply(file), apply(file)]);
    expect(outcomes.map(({ users }) => users)).toEqual(
      expect.arrayContaining([
        { ...none, created: 1 },
        { ...none, unchanged: 1 },
      ]),
    );
    expect(await recorded("user.provisioned")).not.toContainEqual(expect.objectContaining({ reason: "password_replaced" }));
  });

  describe("identities of workloads", () => {
    const issuer = "https://moved.example.test";
    const client = (clientId: string, subjects: readonly string[], at = issuer) => ({
      clientId,
      name: clientId,
      grantTypes: ["client_credentials"],
      tokenEndpointAuthMethod: "workload_jwt",
      workloadIdentities: subjects.map((subject) => ({ issuer: at, subject })),
    });

    test("move between clients of a file in any order", async () => {
      await apply({ workloadIssuers: [{ issuer, kind: "oidc" }], clients: [client("left", ["a"]), client("right", ["b"])] });
      const swapped = { clients: [client("left", ["b"]), client("right", ["a"])] };
      expect((await apply(swapped)).clients).toEqual({ ...none, changed: 2 });
      expect((await apply(swapped)).clients).toEqual({ ...none, unchanged: 2 });
    });

    test("that cannot be added are named by their places, all of them", async () => {
      const clients = [client("astray", ["x", "y"], "https://unknown.example.test"), client("double", ["c", "c"])];
      const message = "is not a trusted issuer of workloads; add it first";
      await expect(apply({ workloadIssuers: [{ issuer, kind: "oidc" }], clients })).rejects.toMatchObject({
        detail: {
          issues: [
            { path: "clients.0.workloadIdentities.0.issuer", message },
            { path: "clients.0.workloadIdentities.1.issuer", message },
            { path: "clients.1.workloadIdentities.1", message: "This identity stands for a client already." },
          ],
        },
      });
    });

    test("a platform of another kind is refused", async () => {
      await apply({ workloadIssuers: [{ issuer: "https://kind.example.test", kind: "oidc" }] });
      await expect(apply({ workloadIssuers: [{ issuer: "https://kind.example.test", kind: "kubernetes" }] })).rejects.toMatchObject({
        code: "invalid_request",
        detail: { issues: [{ path: "workloadIssuers.0.kind" }] },
      });
    });
  });

  test("a preview names what is created, changed and removed, without secrets, and writes nothing", async () => {
    const issuer = "https://ci.example.test";
    const identity = (subject: string) => ({ issuer, subject });
    const file = {
      users: [{ email: "seen@example.test", password: "correct horse battery" }],
      workloadIssuers: [{ issuer, kind: "oidc" }],
      clients: [
        {
          clientId: "seen",
          name: "Seen",
          grantTypes: ["client_credentials"],
          tokenEndpointAuthMethod: "workload_jwt",
          workloadIdentities: [identity("repo:a")],
        },
        {
          clientId: "kept",
          name: "Kept",
          grantTypes: ["client_credentials"],
          tokenEndpointAuthMethod: "client_secret_basic",
          clientSecret: "a secret of more than thirty-two characters",
        },
      ],
      resources: [{ resource: "https://seen.example.test/mcp", name: "Seen", scopes: [{ name: "seen:read" }] }],
    };
    const preview = (more: object) => provisioner(database.sql, passwords, SERVER).preview(plan(more));
    const created = (section: string, entry: string) => ({ change: "created", section, entry, members: [] });
    const everything = [
      created("users", "seen@example.test"),
      created("workloadIssuers", issuer),
      created("clients", "kept"),
      created("clients", "seen"),
      created("workloadIdentities", `seen ${issuer} repo:a`),
      created("resources", "https://seen.example.test/mcp"),
    ];
    const records = () => runText(database.sql, "select id from audit_records order by id");
    const before = await records();
    expect(await preview(file)).toEqual(everything);
    expect(await preview(file)).toEqual(everything);
    expect(await records()).toEqual(before);
    await apply(file);
    expect(await preview(file)).toEqual([]);
    const [seen, kept] = file.clients;
    const next = {
      users: [{ email: "seen@example.test", password: "another horse battery" }],
      clients: [
        { ...seen, scopes: ["notes:read"], workloadIdentities: [identity("repo:b")] },
        { ...kept, clientSecret: "another secret of more than thirty-two characters" },
      ],
    };
    expect(await preview(next)).toEqual([
      { change: "changed", section: "users", entry: "seen@example.test", members: [{ member: "password" }] },
      { change: "changed", section: "clients", entry: "kept", members: [{ member: "clientSecret" }] },
      { change: "changed", section: "clients", entry: "seen", members: [{ member: "scopes", before: [], after: ["notes:read"] }] },
      { change: "removed", section: "workloadIdentities", entry: `seen ${issuer} repo:a`, members: [] },
      created("workloadIdentities", `seen ${issuer} repo:b`),
    ]);
    const unsound = { clients: [{ ...seen, ownerEmail: "unknown@example.test" }] };
    await expect(preview(unsound)).rejects.toMatchObject({ code: "invalid_request" });
  });

  test("a record for the server itself is refused", async () => {
    const resources = [{ resource: "https://files.example.test" }, { resource: `${SERVER.issuer}/`, enabled: false }];
    await expect(apply({ resources })).rejects.toMatchObject({ detail: { issues: [{ path: "resources.1.resource" }] } });
    expect(await runText(database.sql, "select 1 from resources where resource = 'https://files.example.test'")).toEqual([]);
  });

  test("a new password revokes the user's sessions, codes and refresh families", async () => {
    const scene = await aScene(database.sql);
    const user = await users(database.sql).byId(scene.userId);
    const code = await aCode(database.sql, scene);
    const { family } = await anOpenFamily(database.sql, scene);
    expect((await apply({ users: [{ email: user?.email, password: "another horse battery" }] })).users).toEqual({ ...none, changed: 1 });
    expect(await sessions(database.sql).byHash(scene.sessionHash)).toBeUndefined();
    expect(await authorizationCodes(database.sql).byHash(code)).toBeUndefined();
    expect(await refreshFamilies(database.sql).holding(family.tokenHash)).toMatchObject({ revoked: true });
    expect((await users(database.sql).byEmail(user?.email ?? ""))?.passwordHash).toBe("hash of another horse battery");
  });

  test("a file whose caller gives up while passwords are hashed is not applied", async () => {
    const caller = new AbortController();
    const hash = async (password: string) => {
      caller.abort(new Refusal("temporarily_unavailable", "deadline_passed"));
      return passwords.hash(password);
    };
    const late = provisioner(database.sql, { ...passwords, hash }, SERVER);
    const email = "late@example.test";
    const file = plan({ users: [{ email, password: "correct horse battery" }] });
    await expect(late.apply(file, undefined, caller.signal)).rejects.toMatchObject({ reason: "deadline_passed" });
    expect(await users(database.sql).byEmail(email)).toBeUndefined();
  });

  test("a file whose caller gives up while it is applied changes nothing", async () => {
    const caller = new AbortController();
    const giveUp: Database["sql"] = {
      ...database.sql,
      transaction: (work) =>
        database.sql.transaction((tx) => {
          caller.abort(new Refusal("temporarily_unavailable", "deadline_passed"));
          return work(tx);
        }),
    };
    const file = plan({ realms: [{ name: "given up" }] });
    const applied = provisioner(giveUp, passwords, SERVER).apply(file, undefined, caller.signal);
    await expect(applied).rejects.toMatchObject({ reason: "deadline_passed" });
    expect(await runText(database.sql, "select 1 from realms where name = 'given up'")).toEqual([]);
  });

  test("an account, a connection and a platform that come or go while a file is applied are a reason to try again", async () => {
    const user = { email: "overtaken@example.test", password: "correct horse battery" };
    const issuer = "https://overtaken.example.test";
    const connection = { name: "overtaken", issuer, clientId: "here" };
    const platform = { issuer, kind: "oidc" };
    await apply({ connections: [connection], workloadIssuers: [platform] });
    const signsUp = `insert into users (realm_id, email, email_key) select id, '${user.email}', '${user.email}' from realms where name = 'default'`;
    for (const [statement, change, file] of [
      ["provision_account", signsUp, { users: [user] }],
      ["connection_add", "delete from connections where name = 'overtaken'", { connections: [connection] }],
      ["workload_issuer_add", `delete from workload_issuers where issuer = '${issuer}'`, { workloadIssuers: [platform] }],
    ] as const)
      await expect(provisioner(overtaken(database.sql, statement, change), passwords, SERVER).apply(plan(file))).rejects.toMatchObject({
        code: "temporarily_unavailable",
      });
  });

  test.for([
    ["issuer", { issuer: "https://elsewhere.example.test" }],
    ["authMethod", { authMethod: "private_key_jwt", clientSecret: undefined }],
    ["realm", { realm: "elsewhere" }],
  ] as const)("a connection of the same name with another %s is refused, and keeps its secret", async ([member, change]) => {
    const connection = {
      name: `corp-${member.toLowerCase()}`,
      issuer: "https://corp.example.test",
      clientId: "here",
      clientSecret: "first",
    };
    await apply({ connections: [connection], realms: [{ name: "elsewhere" }] });
    const stored = () => runText(database.sql, "select client_id, secret from connections where name = $1", [connection.name]);
    const before = await stored();
    const file = plan({ connections: [{ ...connection, clientId: "there", clientSecret: "second", ...change }] });
    await expect(provisioner(database.sql, passwords, SERVER).apply(file)).rejects.toMatchObject({
      code: "invalid_request",
      detail: { issues: [{ path: `connections.0.${member}` }] },
    });
    expect(await stored()).toEqual(before);
    await apply({ connections: [{ name: connection.name, issuer: connection.issuer, clientId: "there" }] });
    expect(await stored()).toEqual(before.map((row) => Object.assign({}, row, { client_id: "there" })));
  });

  test("each change writes an audit record with its actor, and an application without changes writes none", async () => {
    const file = {
      realms: [{ name: "audited", dynamicRegistrationScopes: ["openid"] }],
      users: [{ email: "audited@example.test", password: "correct horse battery" }],
      clients: [{ clientId: "audited", name: "A", grantTypes: ["authorization_code"], tokenEndpointAuthMethod: "none" }],
    };
    const all = async () => Promise.all(["realm.changed", "user.provisioned", "client.registered", "client.changed"].map(recorded));
    const before = await all();
    const news = async () => (await all()).map((records, index) => records.slice(before[index]?.length));
    await provisioner(database.sql, passwords, SERVER).apply(plan(file), { type: "user", id: "olga" });
    const about = [expect.stringMatching(/^realm:[0-9a-f-]{36}$/)];
    const created = [
      [{ reason: "created", actor: "olga", client: null, scope: "openid", about }],
      [{ reason: "created", actor: "olga", client: null, scope: null, about }],
      [{ reason: null, actor: "olga", client: "audited", scope: null, about: null }],
      [],
    ];
    expect(await news()).toEqual(created);
    await apply(file);
    expect(await news()).toEqual(created);
    await apply({
      realms: [{ name: "audited", dynamicRegistrationScopes: [] }],
      users: [{ email: "audited@example.test", password: "another horse battery" }],
      clients: [{ ...file.clients[0], name: "B" }],
    });
    const actor = "provisioning";
    expect((await news()).map((records) => records.at(-1))).toEqual([
      { reason: "changed", actor, client: null, scope: "", about },
      { reason: "password_replaced", actor, client: null, scope: null, about: null },
      created[2]?.[0],
      { reason: "name", actor, client: "audited", scope: null, about: null },
    ]);
  });

  test("a file with invalid clients is rejected as a whole, with an issue for each; clients are validated with their merged settings", async () => {
    const notes = { clientId: "notes", name: "Notes", grantTypes: ["authorization_code"], tokenEndpointAuthMethod: "none" };
    await apply({ clients: [{ ...notes, environment: "development", redirectUris: ["https://intranet/cb"] }] });
    const files = { ...notes, clientId: "files", tokenEndpointAuthMethod: "private_key_jwt" };
    const clients = [
      { ...notes, environment: "production" },
      { ...notes, clientId: "good" },
      files,
      { ...notes, clientId: "orphan", ownerEmail: "unknown@example.test" },
      { ...notes, clientId: "countersign" },
    ];
    await expect(apply({ clients })).rejects.toMatchObject({
      code: "invalid_request",
      detail: {
        issues: [
          { path: "clients.0.redirectUris.0", message: "must be https on a public host, as the client is in production" },
          { path: "clients.2.jwks", message: "private_key_jwt needs jwks or jwksUri" },
          { path: "clients.3.ownerEmail", message: "belongs to no user" },
          { path: "clients.4", message: "A built-in client cannot be changed." },
        ],
      },
    });
    const directory = clientDirectory(database.sql);
    expect(await directory.byClientId("good")).toBeUndefined();
    expect(await directory.byClientId("notes")).toMatchObject({ environment: "development" });
    const jwks = { keys: [{ kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" }] };
    await apply({ clients: [{ ...files, jwks }] });
    expect((await apply({ clients: [{ ...files, name: "Named again" }] })).clients).toEqual({ ...none, changed: 1 });
    expect(await directory.byClientId("files")).toMatchObject({ jwks, name: "Named again" });
  });

  test("a client's secret is kept when the file omits it, replaced by a new one, and deleted with its authentication method", async () => {
    const client = { clientId: "keeper", name: "K", grantTypes: ["authorization_code"], tokenEndpointAuthMethod: "client_secret_basic" };
    const secret = async () => {
      const hash = (await clientDirectory(database.sql).byClientId("keeper"))?.secretHash;
      return hash && Buffer.from(hash).toString("hex");
    };
    const hashed = (text: string) => Buffer.from(hashSecret(text)).toString("hex");
    await apply({ clients: [{ ...client, clientSecret: "one" }] });
    await apply({ clients: [{ ...client, name: "Kept" }] });
    expect(await secret()).toBe(hashed("one"));
    await apply({ clients: [{ ...client, clientSecret: "two" }] });
    expect(await secret()).toBe(hashed("two"));
    await apply({ clients: [{ ...client, tokenEndpointAuthMethod: "none" }] });
    expect(await secret()).toBeNull();
  });
});
