import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, normalize } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { startIssuer } from "../support/guard-issuer.ts";

const source = join(import.meta.dirname, "../../guard-sdk/src");
const VALUE_IMPORT = /^(?:import|export)\s+(?!type\b)[^;]*?\bfrom\s+"([^"]+)"|(?<!typeof )\bimport\("([^"]+)"\)/gm;

const codeOf = (file: string) => readFileSync(join(source, file), "utf8").replaceAll(/^import type .*$/gm, "");

/** The files of this repository and the packages that a file loads, statically or dynamically. */
function loadedWith(file: string, seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  for (const match of file.endsWith(".ts") ? codeOf(file).matchAll(VALUE_IMPORT) : []) {
    const specifier = match[1] ?? match[2] ?? "";
    loadedWith(specifier.startsWith(".") ? normalize(join(file, "..", specifier)) : specifier, seen);
  }
  return seen;
}

const packagesOf = (file: string) => [...loadedWith(file)].filter((name) => !name.endsWith(".ts")).toSorted();

test.for(["index.ts", "hono.ts"])("%s loads jose as its only package, and does not use Buffer", (entry) => {
  expect(packagesOf(entry)).toEqual(["jose"]);
  expect([...loadedWith(entry)].filter((file) => file.endsWith(".ts") && /\bBuffer\b/.test(codeOf(file)))).toEqual([]);
});

test.for(["express.ts", "koa.ts", "fastify.ts", "node.ts"])("%s does not load its framework", (entry) => {
  expect(packagesOf(entry).filter((name) => name !== "jose")).toEqual([]);
});

test("the gRPC verification loads its peer dependencies lazily, and no other packages", () => {
  expect(packagesOf("grpc.ts")).toEqual(["@bufbuild/protobuf", "@bufbuild/protobuf/codegenv2", "@grpc/grpc-js", "jose"]);
  expect(codeOf("grpc.ts") + codeOf("grpc-channel.ts")).not.toMatch(/^import (?!type)[^;]*"(?:@grpc|@bufbuild)/m);
});

/** A worker as the guard sees it: Fetch and WebCrypto without Node. Node's own fetch needs Buffer and is replaced. */
const EDGE = `
  const [resource, issuer, token, documents] = process.argv.slice(1);
  const fetch = async (url) => new Response(JSON.parse(documents)[new URL(url).pathname]);
  const print = process.stdout.write.bind(process.stdout);
  globalThis.process = undefined;
  const { createGuard } = await import("@countersign/guard");
  const guard = createGuard({ resource, authorizationServers: [issuer], fetch });
  const handle = guard.protect((request, { sub }) => Response.json({ sub, token: request.headers.get("authorization") }));
  const call = (authorization) => handle(new Request(resource, { headers: { authorization } }));
  const answers = [await call("Bearer " + token), await call("Bearer " + token), await call("Bearer x" + token)];
  print(JSON.stringify(await Promise.all(answers.map(async (answer) => [answer.status, await answer.json()]))));
`;

test("local verification works in a runtime without Node", async () => {
  const issuer = await startIssuer();
  onTestFinished(issuer.close);
  const resource = "https://notes.example/mcp";
  const documents = JSON.stringify(Object.fromEntries([...issuer.documents].map(([path, { body }]) => [path, body])));
  const args = [
    "--conditions=countersign",
    "--input-type=module",
    "-e",
    EDGE,
    resource,
    issuer.issuer,
    await issuer.token(resource),
    documents,
  ];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: join(source, "../..") });
  const good = [200, { sub: "ada", token: null }];
  expect(JSON.parse(stdout)).toEqual([good, good, [401, { error: "invalid_token" }]]);
});
