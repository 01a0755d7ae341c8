import { execFile } from "node:child_process";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { checkPackage, createPackageFromTarballData, type Problem } from "@arethetypeswrong/core";
import { publint } from "publint";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { install, packed, scratch } from "../support/packed.ts";

const root = join(import.meta.dirname, "../..");
const { dir, remove } = scratch();
afterAll(remove);

const PACKAGES = [
  { workspace: "agent-sdk", needs: [], linked: ["@types/node"] },
  { workspace: "guard-sdk", needs: ["jose", "@bufbuild/protobuf"], linked: ["@grpc/grpc-js", "@types/node"] },
  { workspace: "admin", needs: ["@trpc/client", "@trpc/server"], linked: [] },
] as const;

const tarballs = await Promise.all(PACKAGES.map(async (each) => ({ ...each, tarball: await packed(each.workspace) })));

const compile = (cwd: string, ...args: string[]) =>
  promisify(execFile)(join(root, "node_modules/.bin/tsc"), ["--noEmit", "--strict", "--target", "es2022", ...args], { cwd }).then(
    ({ stdout }) => stdout,
    (error: { stdout: string }) => error.stdout,
  );

/** A program that uses each entry of the guard but that for the MCP SDK. */
const GUARD_USE = `
import { createGuard, GuardRefusal, introspection, type Principal } from "@countersign/guard";
import * as express from "@countersign/guard/express";
import * as fastify from "@countersign/guard/fastify";
import { grpcIntrospection, localWithRevocations, type RevocationOptions } from "@countersign/guard/grpc";
import * as hono from "@countersign/guard/hono";
import * as koa from "@countersign/guard/koa";
import * as node from "@countersign/guard/node";
import { createPqcVerifier } from "@countersign/guard/pqc";

const issuer = "https://auth.example.test";
const guard = createGuard({ resource: "https://notes.example.test", authorizationServers: [issuer], onRefusal: ({ code }) => code satisfies string });
export const listeners = [express.protect(guard), fastify.protect(guard), hono.protect(guard), koa.protect(guard, { scopes: ["a"] })];
export const listener = node.protect(guard, (_request, response, { sub }: Principal) => response.end(sub));
export const others = [introspection({ clientId: "c", clientSecret: "s" }), createPqcVerifier({ issuer }), GuardRefusal];
const overGrpc: RevocationOptions = { address: "https://auth.example.test:3001", clientId: "c", clientSecret: "s" };
export const verifications = [grpcIntrospection(overGrpc), localWithRevocations(overGrpc)];
// @ts-expect-error the resource is required
createGuard({ authorizationServers: [issuer] });
// @ts-expect-error scopes are a list
node.protect(guard, () => undefined, { scopes: "notes:read" });
`;

/** A program that uses both entries of the agent library. */
const AGENT_USE = `
import { type Access, AgentError, type AgentOptions, agent, clientSecret, generateProofKey, privateKey, publicClient, workloadToken } from "@countersign/agent";
import { commandToken, githubToken, kubernetesToken } from "@countersign/agent/workload";

export const secret: Parameters<typeof privateKey>[0] = { kty: "OKP", crv: "Ed25519", d: "d", x: "x", kid: "k" };
const own = agent({ issuer: "https://auth.example.test", clientId: "a", credential: kubernetesToken("/token"), dpop: "required" });
export const answered: Promise<Response> = own.onBehalfOf("t", { scope: "a b", tokenType: "id_token" }).fetch("https://notes.example.test");
export const access: Access = own.withAssertion(({ resource = "" }) => own.assertionFor("https://other.example.test", { token: "t", resource }));
export const credentials = [clientSecret("s"), privateKey({ kty: "OKP" }, { kid: "k" }), publicClient(), workloadToken(githubToken(), { use: "grant" })];
export const others = [commandToken(["svid", "{issuer}"]), AgentError];
export const proofKey: AgentOptions["proofKey"] = await generateProofKey();
// @ts-expect-error a proof key is a pair
export const noPair: AgentOptions["proofKey"] = "key";
// @ts-expect-error a pair is no private key
privateKey(proofKey);
// @ts-expect-error the client_id is required
agent({ issuer: "https://auth.example.test", credential: publicClient() });
// @ts-expect-error a secret is wrapped, so that it is not mistaken for a token
agent({ issuer: "https://auth.example.test", clientId: "a", credential: "secret" });
`;
const USES = { "agent-sdk": AGENT_USE, "guard-sdk": GUARD_USE };

describe.for(tarballs)("the packed $workspace", ({ workspace, tarball, needs, linked }) => {
  const bytes = new Uint8Array(readFileSync(tarball));
  const { name } = JSON.parse(readFileSync(join(root, workspace, "package.json"), "utf8"));
  const project = join(dir, workspace);
  beforeAll(() => install(project, tarball, needs, linked));

  test("has no problem that publint reports", async () => {
    const { messages } = await publint({ pack: { tarball: bytes.buffer }, strict: true });
    expect(messages).toEqual([]);
  });

  test("has types for its exports in every module resolution that supports exports", async () => {
    const analysis = await checkPackage(createPackageFromTarballData(bytes));
    expect(analysis.types).toMatchObject({ kind: "included" });
    // CommonJS can require ES modules since Node 20.19, see below; the resolution of before Node 12 does not know exports.
    const relevant = (problem: Problem) => !("resolutionKind" in problem && ["node10", "node16-cjs"].includes(problem.resolutionKind));
    expect("problems" in analysis ? analysis.problems.filter(relevant) : undefined).toEqual([]);
  });

  test("contains the build, the licence, the readme and the changelog, and no source or test", async () => {
    const files = createPackageFromTarballData(bytes).listFiles();
    const top = new Set(files.map((path) => path.slice(`/node_modules/${name}/`.length).split("/", 1)[0]));
    expect([...top].toSorted()).toEqual(["CHANGELOG.md", "LICENSE", "README.md", "dist", "package.json"]);
    expect(files.filter((path) => path.endsWith(".ts") && !path.endsWith(".d.ts"))).toEqual([]);
  });

  test("is published with provenance, and its manifest and changelog agree", async () => {
    const manifest = JSON.parse(readFileSync(join(root, workspace, "package.json"), "utf8"));
    expect(manifest).toMatchObject({
      license: "Apache-2.0",
      type: "module",
      sideEffects: false,
      engines: { node: ">=20" },
      publishConfig: { access: "public", provenance: true },
    });
    const changelog = readFileSync(join(root, workspace, "CHANGELOG.md"), "utf8");
    expect(/^## (\S+)/m.exec(changelog)?.[1]).toBe(manifest.version);
    const lines = changelog.split("\n").filter((line) => line.startsWith("- "));
    expect(new Set(lines).size).toBe(lines.length);
  });

  test.for([
    ["for Node", ["--lib", "es2022"]],
    ["with the types of browsers", []],
  ] as const)("compiles in a strict project %s that installs it", async ([, lib]) => {
    const strictly = ["--module", "nodenext", "--exactOptionalPropertyTypes", ...lib];
    if (workspace !== "admin") {
      writeFileSync(join(project, "use.ts"), USES[workspace]);
      expect(await compile(project, ...strictly, "--types", "node", "use.ts")).toBe("");
    } else {
      copyFileSync(join(root, "test/types/admin-client.ts"), join(project, "use.ts"));
      expect(await compile(project, ...strictly, "--types", "", "--skipLibCheck", "use.ts")).toBe("");
    }
  });

  test("can be loaded by require() from CommonJS", async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ["-e", `console.log(Object.keys(require("${name}")).join())`], {
      cwd: project,
    });
    expect(stdout).toMatch(/createGuard|createAdminClient|\bagent\b/);
  });
});
