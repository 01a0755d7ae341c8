import { pbkdf2Sync, scryptSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import argon2 from "argon2";
import bcrypt from "bcrypt";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { verifierOf } from "../../src/accounts/hashing-job.ts";
import { registerUserCommands } from "../../src/cli/users.ts";
import { adminAs } from "../support/admin.ts";
import { aBrowser } from "../support/browser.ts";
import { runText } from "../support/database.ts";
import { PASSWORD } from "../support/flow.ts";
import { losingAnswers } from "../support/lost-answers.ts";
import { OPERATOR, startServer, type TestServer } from "../support/server.ts";
import { aTerminal } from "../support/terminal.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.close());

/** Runs `countersign users …` as the operator; a file with these lines is the last word. */
async function users(words: readonly string[], lines?: readonly string[]) {
  const { run, leave } = aTerminal({ serverUrl: server.url, ...OPERATOR });
  const folder = mkdtempSync(join(tmpdir(), "countersign-import-"));
  onTestFinished(() => {
    leave();
    rmSync(folder, { recursive: true });
  });
  const file = join(folder, "users.ndjson");
  if (lines !== undefined) writeFileSync(file, lines.join("\n"));
  return run([registerUserCommands], ["users", ...words, ...(lines === undefined ? [] : [file])]);
}

const signIn = (email: string, password = PASSWORD) => aBrowser(server.url).json("/auth/login", { email, password });

const base64 = (bytes: Uint8Array | string): string => Buffer.from(bytes).toString("base64").replaceAll("=", "");

test("users with hashes of other servers sign in with their passwords, and their hashes become argon2id of this server", async () => {
  const hashes = {
    bcrypt: await bcrypt.hash(PASSWORD, 4),
    php: (await bcrypt.hash(PASSWORD, 4)).replace("$2b$", "$2y$"),
    argon2i: await argon2.hash(PASSWORD, { type: argon2.argon2i, memoryCost: 64, timeCost: 2, parallelism: 1 }),
    pbkdf2: `$pbkdf2-sha512$i=1000$${base64("a salt")}$${base64(pbkdf2Sync(PASSWORD, "a salt", 1000, 64, "sha512"))}`,
    scrypt: `$scrypt$ln=10,r=8,p=1$${base64("a salt")}$${base64(scryptSync(PASSWORD, "a salt", 64, { cost: 1024 }))}`,
  };
  const rows = Object.entries(hashes).map(([name, passwordHash]) =>
    JSON.stringify({ email: `${name}@example.test`, emailVerified: true, firstName: name, passwordHash }),
  );
  expect(await users(["import"], [...rows, "", JSON.stringify({ email: "none@example.test" })])).toMatchObject({
    code: 0,
    out: "Imported 6 users.\n",
  });
  for (const name of Object.keys(hashes)) {
    expect((await signIn(`${name}@example.test`, "not the password")).status).toBe(401);
    for (let time = 0; time < 2; time++) expect((await signIn(`${name}@example.test`)).status).toBe(200);
  }
  expect((await signIn("none@example.test")).status).toBe(401);
  const stored = await runText(server.database.sql, "select password_hash from credentials");
  for (const row of stored) expect(JSON.stringify(row)).toContain("$argon2id$");
  const exported = (await users(["export"])).out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(exported.find(({ email }) => email === "bcrypt@example.test")).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    email: "bcrypt@example.test",
    emailVerified: true,
    firstName: "bcrypt",
    lastName: null,
    role: "developer",
    realm: "default",
    enabled: true,
  });
});

test("users are imported into the realm that their line names, else into the one of --realm, and are exported with it", async () => {
  const { operator } = (await adminAs(server.url)).admin;
  for (const name of ["guests", "Partners"]) await operator.realms.create.mutate({ name });
  const line = (email: string, realm?: string) => JSON.stringify({ email: `${email}@realms.test`, realm });
  const lines = [line("guest", "guests"), line("partner"), line("own", "default")];
  const unknown = await users(["import"], [...lines, line("lost", "gusts"), line("late", "gusts")]);
  const faults = ["line 4: realm names no realm", "line 5: realm names no realm"];
  expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining(`Nothing was imported.\n  ${faults.join("\n  ")}`)]);
  expect(await users(["import", "--realm", "nowhere"], lines)).toMatchObject({ code: 4, err: "There is no realm named nowhere.\n" });
  expect(await users(["import", "--realm", "Partners"], lines)).toMatchObject({ code: 0, out: "Imported 3 users.\n" });
  const exported = (await users(["export"])).out.split("\n").filter((one) => one.includes("@realms.test"));
  expect(
    exported
      .map((one) => JSON.parse(one))
      .map(({ email, realm }) => `${email} ${realm}`)
      .toSorted(),
  ).toEqual(["guest@realms.test guests", "own@realms.test default", "partner@realms.test Partners"]);
  expect(await users(["import", "--realm", "guests"], ['"text"', "[]"])).toMatchObject({ code: 1 });
});

test("users are imported with the role of their line, else with that of --role", async () => {
  const lines = ["staff", "maker"].map((name, at) =>
    JSON.stringify({ email: `${name}@roles.test`, role: at === 0 ? undefined : "developer" }),
  );
  expect(await users(["import", "--role", "user"], lines)).toMatchObject({ code: 0, out: "Imported 2 users.\n" });
  const exported = (await users(["export"])).out.split("\n").filter((one) => one.includes("@roles.test"));
  expect(exported.map((one) => JSON.parse(one).role).toSorted()).toEqual(["developer", "user"]);
});

const TWICE = "5b7e7b0e-3f5f-4f1e-8f5e-222222222222";
const OF_OTHER_SERVER = "4F0B5C3E-9C61-4b5e-8f0a-1d2c3b4a5968";

test("a user keeps the UUID by which applications know them, which no other user or client has, also not while tokens of a deleted one could live", async () => {
  const line = (email: string) => JSON.stringify({ email, id: OF_OTHER_SERVER });
  expect(await users(["import"], [line("kept@example.test")])).toMatchObject({ code: 0 });
  const idOf = () => runText(server.database.sql, "select id from users where email = 'kept@example.test'");
  expect(await idOf()).toEqual([{ id: OF_OTHER_SERVER.toLowerCase() }]);
  const again = () => users(["import", "--skip-existing"], [line("other@example.test")]);
  expect((await again()).out).toBe("Imported 0 users. 1 user had an account already.\n");
  const refused = { code: 1, err: expect.stringContaining("line 1: id belongs to a client, or to a user who was deleted within") };
  await runText(server.database.sql, "delete from users where email = 'kept@example.test'");
  expect(await again()).toMatchObject(refused);
  await runText(server.database.sql, "delete from revocation_events where kind = 'user'");
  const aClient = `insert into clients select (jsonb_populate_record(web, jsonb_build_object('id', gen_random_uuid(), 'client_id', $1::text))).*
    from clients web where client_id = 'web'`;
  await runText(server.database.sql, aClient, [OF_OTHER_SERVER.toLowerCase()]);
  expect(await again()).toMatchObject(refused);
});

test("users are listed by the time of their import, whatever their ids are", async () => {
  const line = (email: string, first: string) => JSON.stringify({ email, id: `${first}d4c9e5a-7d0c-4f43-9c3e-222222222222` });
  await users(["import"], [line("order-1@example.test", "f")]);
  await users(["import"], [line("order-2@example.test", "1")]);
  await users(["import"], [JSON.stringify({ email: "order-3@example.test" })]);
  const { out } = await users(["list", "--search", "order-"]);
  expect(out.match(/order-\d/g)).toEqual(["order-3", "order-2", "order-1"]);
});

test("export escapes what would change a terminal", async () => {
  const email = "hostile@example.test";
  await users(["import"], [JSON.stringify({ email, firstName: "Ada" })]);
  await runText(server.database.sql, `update users set first_name = U&'\\009b31m\\202e' where email = '${email}'`);
  const { out } = await users(["export"]);
  expect(out.split("\n").find((line) => line.includes(email))).toContain('"firstName":"\\u009b31m\\u202e"');
});

test.for([
  ["no JSON", "{", "line 3: is not JSON"],
  ["no object", "[]", "line 3: must be an object"],
  ["no address", JSON.stringify({ email: "x" }), "line 3: email is not an e-mail address"],
  ["an address beyond ASCII", JSON.stringify({ email: "jürgen@example.test" }), "line 3: email is not an e-mail address in ASCII"],
  ["a character that no text may have", JSON.stringify({ email: "x@example.test", firstName: "a\0" }), "line 3: The body contains a char"],
  ["more than a request may have", JSON.stringify({ email: "x@example.test", firstName: "a".repeat(2 ** 20) }), "line 3: The body is too"],
  ["an unknown hash", JSON.stringify({ email: "x@example.test", passwordHash: "$1$md5" }), "line 3: passwordHash is neither"],
  ["an address with an account", JSON.stringify({ email: OPERATOR.email.toUpperCase() }), "line 3: email has an account already"],
  ["an id that is no UUID", JSON.stringify({ email: "x@example.test", id: "auth0|1" }), "line 3: id is not a UUID"],
  ["the nil UUID", JSON.stringify({ email: "x@example.test", id: "00000000-0000-0000-0000-000000000000" }), "line 3: id is not a UUID"],
  [
    "an id named twice",
    `${JSON.stringify({ email: "y@example.test", id: TWICE })}\n${JSON.stringify({ email: "z@example.test", id: TWICE })}`,
    "line 4: id is named twice",
  ],
  ["an address named twice", JSON.stringify({ email: "FINE@example.test" }), "line 3: email is named twice"],
] as const)("a file with %s in one line imports nothing, and the line is named", async ([, bad, fault]) => {
  const said = await users(["import"], [JSON.stringify({ email: "fine@example.test" }), "", bad]);
  expect([said.code, said.out]).toEqual([1, ""]);
  expect(said.err).toContain(fault);
  expect((await users(["list", "--search", "fine@"])).out).not.toContain("fine@");
});

test("a file that is imported again adds those who came since, and leaves out those with an account", async () => {
  const line = (email: string, more: object = {}) => JSON.stringify({ email, ...more });
  const id = "0d4c9e5a-7d0c-4f43-9c3e-111111111111";
  await users(["import"], [line("early@example.test", { id })]);
  const lines = [line("EARLY@example.test"), line("moved@example.test", { id }), line("late@example.test")];
  expect(await users(["import", "--skip-existing"], lines)).toMatchObject({
    code: 0,
    out: "Imported 1 user. 2 users had an account already.\n",
  });
  expect((await users(["list", "--search", "late@"])).out).toContain("late@example.test");
  const refused = await users(["import"], [...lines, line("later@example.test")]);
  expect([refused.code, refused.err.trim().split("\n")]).toEqual([
    1,
    [
      "Nothing was imported.",
      "  line 1: email has an account already, or is named twice",
      "  line 3: email has an account already, or is named twice",
      "  line 2: id has an account already, or is named twice",
      "Import the file again with --skip-existing, which leaves out the users with an account.",
    ],
  ]);
  const faulty = await users(["import", "--skip-existing"], [...lines, line("x")]);
  expect([faulty.code, faulty.err]).toEqual([1, expect.stringContaining("line 4: email is not an e-mail address")]);
});

test("a file with a byte order mark and line ends of Windows is read, and one that is not UTF-8 is refused", async () => {
  const { run, home, leave } = aTerminal({ serverUrl: server.url, ...OPERATOR });
  onTestFinished(leave);
  const file = join(home, "users.ndjson");
  const imported = (content: string | Buffer) => {
    writeFileSync(file, content);
    return run([registerUserCommands], ["users", "import", file]);
  };
  const lines = ["marked1", "marked2"].map((name) => JSON.stringify({ email: `${name}@example.test`, firstName: "René" }));
  expect(await imported(`\ufeff${lines.join("\r\n")}\r\n`)).toMatchObject({ code: 0, err: "", out: "Imported 2 users.\n" });
  for (const encoding of ["latin1", "utf16le"] as const) {
    const content = Buffer.from(`\ufeff${JSON.stringify({ email: "other@example.test", firstName: "René" })}`, encoding);
    expect(await imported(content)).toMatchObject({ code: 1, err: `${file} is not UTF-8.\n` });
  }
  expect((await users(["list", "--search", "other@"])).out).not.toContain("other@");
});

test.for([[], ["", "  "]])("a file without a user is refused, as of a program that failed before it wrote any", async (lines) => {
  const { code, out, err } = await users(["import"], lines);
  expect([code, out, err]).toEqual([1, "", expect.stringMatching(/^\S+users\.ndjson has no user\.\n$/)]);
});

test("all faulty lines of a long file are named at once, at most 100 of them", async () => {
  const row = (index: number) => JSON.stringify({ email: `fault${index}@example.test` });
  const rows = Array.from({ length: 2_001 }, (_, index) => row(index));
  const few = await users(["import"], ["{}", row(5), ...rows, row(6), JSON.stringify({ email: "x" })]);
  const lines = ["line 8: email is named twice, first in line 2", "line 2004: email is named twice, first in line 9"];
  for (const fault of [...lines, "line 1: email ", "line 2005: email is not an e-mail address"]) expect(few.err).toContain(fault);
  const many = await users(["import"], [...rows, ...rows]);
  expect(many.err.trim().split("\n")).toHaveLength(102);
  expect(many.err).toMatch(/\n {2}and 1\d{3} more\n$/);
});

test("lines without an address are not taken for the same user", async () => {
  const said = await users(["import"], [JSON.stringify({ firstName: "Ada" }), JSON.stringify({ firstName: "Grace" })]);
  expect([said.code, said.err]).toEqual([1, expect.stringMatching(/line 1: email .*\n {2}line 2: email /)]);
  expect(said.err).not.toContain("named twice");
});

test("a file of several requests is imported as a whole, or not at all where a line in its second part is faulty", async () => {
  const line = (index: number) => JSON.stringify({ email: `many${index}@example.test` });
  const lines = Array.from({ length: 2_001 }, (_, index) => line(index));
  expect((await users(["import"], [...lines, JSON.stringify({ email: OPERATOR.email })])).err).toContain("line 2002: email has an account");
  expect((await users(["list", "--search", "many7@"])).out).not.toContain("many7@");
  expect(await users(["import"], lines)).toMatchObject({ code: 0, out: "Imported 2001 users.\n" });
  expect((await users(["list", "--search", "many2000@"])).out).toContain("many2000@");
});

/** The server behind a proxy that gives something else than the answer of the import with a number. */
function importsThrough(number: number, given: number | "broken"): Promise<string> {
  let imports = 0;
  return losingAnswers(server.url, (_, body) => (body.includes('"dryRun":false') && ++imports === number ? given : undefined));
}

test.for([
  ["breaks", "broken", /The server at \S+ does not answer\.$/m],
  ["is a page of a proxy", 502, /The server cannot answer right now \(status 502\)\./],
] as const)("an import whose answer %s may have happened, and can be repeated", async ([what, given, cause]) => {
  const { run, home, leave } = aTerminal({ serverUrl: await importsThrough(1, given), ...OPERATOR });
  onTestFinished(leave);
  const file = join(home, "users.ndjson");
  writeFileSync(file, JSON.stringify({ email: `lost-${what.length}@example.test` }));
  const lost = await run([registerUserCommands], ["users", "import", file]);
  expect([lost.code, lost.err]).toEqual([
    5,
    expect.stringMatching(/^The lines up to 1 may have been imported\. Import .* --skip-existing/),
  ]);
  expect(lost.err).toMatch(cause);
  const again = await run([registerUserCommands], ["users", "import", "--skip-existing", file]);
  expect(again.out).toBe("Imported 0 users. 1 user had an account already.\n");
});

test("an import of which a later request gets no answer says which lines were imported, and which may have been", async () => {
  const { run, home, leave } = aTerminal({ serverUrl: await importsThrough(2, 502), ...OPERATOR });
  onTestFinished(leave);
  const file = join(home, "users.ndjson");
  writeFileSync(file, Array.from({ length: 2_001 }, (_, index) => JSON.stringify({ email: `part${index}@example.test` })).join("\n"));
  const { code, err } = await run([registerUserCommands], ["users", "import", file]);
  expect([code, err]).toEqual([5, expect.stringMatching(/^The lines up to 2000 were imported\. The lines up to 2001 may have been/)]);
});

test.for([
  [`$2b$15$${"a".repeat(53)}`, false],
  [`$2b$14$${"a".repeat(53)}`, true],
  [`$argon2id$v=19$m=131072,t=3,p=4$c2FsdHNhbHQ$${"a".repeat(43)}`, true],
  [`$argon2id$v=19$m=131073,t=3,p=4$c2FsdHNhbHQ$${"a".repeat(43)}`, false],
  [`$argon2id$v=19$m=131072,t=10,p=4$c2FsdHNhbHQ$${"a".repeat(43)}`, true],
  [`$argon2id$v=19$m=131072,t=11,p=4$c2FsdHNhbHQ$${"a".repeat(43)}`, false],
  [`$argon2id$v=19$m=131072,t=1,p=16$c2FsdHNhbHQ$${"a".repeat(43)}`, true], // Ory Kratos: two lanes for each processor
  [`$argon2i$v=19$m=4096,t=256,p=1$c2FsdHNhbHQ$${"a".repeat(43)}`, true], // Logto
  [`$argon2i$v=19$m=4096,t=321,p=1$c2FsdHNhbHQ$${"a".repeat(43)}`, false],
  [`$argon2id$v=16$m=65536,t=3,p=4$c2FsdHNhbHQ$${"a".repeat(43)}`, false],
  [`$pbkdf2-sha256$i=27500$c2FsdHNhbHQ$${"a".repeat(86)}`, true],
  [`$pbkdf2-sha512$i=2000000,l=32$c2FsdHNhbHQ$${"a".repeat(43)}`, true],
  [`$pbkdf2-sha1$i=500001$c2FsdHNhbHQ$${"a".repeat(86)}`, false], // four blocks
  [`$pbkdf2-sha512$i=2000001$c2FsdHNhbHQ$${"a".repeat(43)}`, false],
  [`$pbkdf2-sha512$i=0$c2FsdHNhbHQ$${"a".repeat(43)}`, false],
  [`$pbkdf2-md5$i=1000$c2FsdHNhbHQ$${"a".repeat(43)}`, false],
  [`$pbkdf2-sha256$i=1000$c2FsdHNhbHQ$${"a".repeat(21)}`, false],
  [`$scrypt$ln=17,r=8,p=4$c2FsdHNhbHQ$${"a".repeat(43)}`, true],
  [`$scrypt$ln=18,r=8,p=1$c2FsdHNhbHQ$${"a".repeat(43)}`, false],
  [`$scrypt$ln=14,r=8,p=5$c2FsdHNhbHQ$${"a".repeat(43)}`, false],
  [`$scrypt$ln=15,r=1,p=1$c2FsdHNhbHQ$${"a".repeat(43)}`, true],
  [`$scrypt$ln=16,r=1,p=1$c2FsdHNhbHQ$${"a".repeat(43)}`, false],
  [`$scrypt$ln=0,r=8,p=1$c2FsdHNhbHQ$${"a".repeat(43)}`, false],
  [`$scrypt$ln=14,r=0,p=1$c2FsdHNhbHQ$${"a".repeat(43)}`, false],
  ["plain", false],
] as const)("%s can be taken over: %s", ([encoded, expected]) => {
  expect(verifierOf(encoded) !== undefined).toBe(expected);
});
