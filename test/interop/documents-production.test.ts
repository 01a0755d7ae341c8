import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { get } from "node:http";
import { join } from "node:path";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { blocksOf, commandsOf, filled } from "../support/documents.ts";
import { eventsOf, nextEvent } from "../support/event-stream.ts";
import { serverDriver } from "../support/flow.ts";
import { freePort } from "../support/free-port.ts";
import { NGINX } from "../support/nginx.ts";
import { scratch } from "../support/packed.ts";
import { aDirectory, endProcesses, provisionFile, startProcess, until } from "../support/processes.ts";
import { ca } from "../support/publisher.ts";
import { PROVISIONED, startServer } from "../support/server.ts";
import { runAll } from "../support/shell.ts";

const DOCUMENT = "docs/production.md";
const { dir, remove } = scratch();
afterAll(async () => {
  await endProcesses();
  remove();
});

/** nginx with the configuration of the document, on ports of this test, with a certificate for localhost. */
async function startProxy(upstream: number) {
  const [plain, tls] = [await freePort(), await freePort()];
  const { key, cert } = ca.serverFor("localhost");
  const certificate = "/etc/letsencrypt/live/id.example.com";
  const at = (name: string) => join(dir, name);
  writeFileSync(at("fullchain.pem"), cert);
  writeFileSync(at("privkey.pem"), key);
  const shown = blocksOf(DOCUMENT).find(({ name }) => name === "countersign.conf")?.code ?? "";
  const ports = { "127.0.0.1:3000": `127.0.0.1:${upstream}`, "listen 80;": `listen ${plain};`, "listen 443 ssl;": `listen ${tls} ssl;` };
  writeFileSync(at("countersign.conf"), filled(shown, { ...ports, [certificate]: dir, "id.example.com": "localhost" }));
  const paths = ["client_body_temp_path", "proxy_temp_path", "fastcgi_temp_path", "uwsgi_temp_path", "scgi_temp_path"];
  const http = [...paths.map((name) => `${name} ${at(name)};`), "access_log off;", `include ${at("countersign.conf")};`].join("\n  ");
  writeFileSync(at("nginx.conf"), `pid ${at("nginx.pid")};\nerror_log stderr;\nevents {}\nhttp {\n  ${http}\n}\n`);
  const child = spawn("nginx", ["-c", at("nginx.conf"), "-g", "daemon off;"], { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (text) => (said += text));
  onTestFinished(async () => {
    child.kill("SIGTERM");
    await once(child, "exit");
  });
  const redirect = (path: string) =>
    new Promise<string | undefined>((resolve, reject) => {
      get(`http://localhost:${plain}${path}`, ({ headers }) => resolve(headers.location)).on("error", reject);
    });
  await until(`nginx answers: ${said}`, async () => (await redirect("/")) !== undefined);
  return { port: tls, redirect };
}

test.skipIf(NGINX === undefined)(
  NGINX === undefined
    ? "missing toolchain: nginx"
    : "the nginx configuration of docs/production.md serves the pages, tokens and live audit of an https issuer",
  async () => {
    ca.trustHere();
    const upstream = await freePort();
    const { port, redirect } = await startProxy(upstream);
    const issuer = `https://localhost:${port}`;
    const server = await startServer({ env: { PORT: String(upstream), JWT_ISSUER: issuer, TRUST_PROXY: "true" } });
    onTestFinished(() => server.close());
    expect(await redirect("/signup?x=1")).toBe("https://localhost/signup?x=1");
    expect((await server.get("/metrics")).status).toBe(404);
    const metadata = await server.get("/.well-known/oauth-authorization-server");
    expect([metadata.body.issuer, metadata.headers.get("strict-transport-security")]).toEqual([issuer, expect.stringContaining("max-age")]);
    const { browser, id, login } = await server.signedInUser();
    const { access_token: token } = await server.tokens(server.clients.web, browser, { scope: "openid" });
    expect((await server.userinfo(token)).body.sub).toBe(id);
    // nginx collects an answer until its buffer is full, unless the answer says otherwise.
    const headers = { authorization: `Bearer ${login.access_token}` };
    const events = eventsOf(await fetch(`${issuer}/trpc/live.audit`, { headers }));
    expect((await nextEvent(events)).data).toContain('"records"');
    await events.return();
  },
);

const client = { clientId: "web", secret: "web-secret", redirectUri: "https://app.example.test/cb" };

test("the commands of docs/production.md bring a data directory back", async () => {
  const home = aDirectory();
  const env = { DATA_DIR: join(home, "data"), PORT: String(await freePort()) };
  const clients = PROVISIONED.clients.filter(({ clientId }) => clientId === client.clientId);
  const start = async (given: Record<string, string> = {}) => {
    const { url, child, ended } = await startProcess({ ...env, ...given });
    const stop = () => {
      child.kill("SIGINT");
      return ended;
    };
    return { driver: serverDriver(url, join(env.DATA_DIR, "outbox")), stop };
  };
  const [copy, ...noFurther] = commandsOf(DOCUMENT, "back-up-and-restore-data_dir");
  const first = await start({ PROVISION_FILE: provisionFile({ clients }) });
  const user = await first.driver.signedInUser();
  const issued = await first.driver.tokens(client, user.browser, { scope: "openid offline_access" });
  await first.stop();
  await runAll([copy ?? ""], home);
  const second = await start();
  await second.driver.revoke(client, issued.refresh_token);
  await second.stop();
  await runAll(noFurther, home);
  const third = await start();
  expect((await third.driver.introspect(client, issued.access_token)).body).toMatchObject({ active: true, sub: user.id });
  expect((await third.driver.refresh(client, issued.refresh_token)).status).toBe(200);
  await third.stop();
});
