import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout } from "node:timers/promises";
import { eventsOf } from "../test/support/event-stream.ts";
import { OPERATOR } from "./console-rows.ts";
import type { Spent } from "./counted.ts";
import { freePort } from "./processes.ts";
import { serverEnv } from "./serve.ts";
import { emptyStorage, STORAGE } from "./storage.ts";

const CHANNELS = 1_000;
/** Connections are opened so many at a time. */
const AT_ONCE = 50;
/** Seconds of watching. */
const WATCHED = 10;

const post = (url: string, path: string, body: object) =>
  fetch(url + path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

async function startCounted(env: NodeJS.ProcessEnv) {
  const child = fork(new URL("counted.ts", import.meta.url), { execArgv: ["--conditions=countersign"], env });
  await once(child, "message");
  return {
    async spent(): Promise<Spent> {
      const answered = once(child, "message");
      child.send("spent");
      return (await answered)[0] as Spent;
    },
    async stop() {
      const ended = once(child, "exit");
      child.send("stop");
      await ended;
    },
  };
}

/** Opens one channel of records of failed sign-ins. */
async function openChannel(url: string, token: string, onRecord: () => void, signal: AbortSignal): Promise<void> {
  const input = encodeURIComponent(JSON.stringify({ event: "session.refused" }));
  const answer = await fetch(`${url}/trpc/live.audit?input=${input}`, { headers: { authorization: `Bearer ${token}` }, signal });
  const events = eventsOf(answer);
  await events.next();
  const follow = async (): Promise<void> => {
    for await (const { event, data } of events) if (event === "message" && JSON.parse(data).records.length > 0) onRecord();
  };
  follow().catch(() => undefined); // until the bench ends it
}

/** What many open consoles cost one process: statements a second, memory, and the time until a record is on all of them. */
export async function channels(): Promise<void> {
  const storage = await emptyStorage();
  const port = await freePort();
  const server = await startCounted({ ...serverEnv(storage), PORT: String(port), GRPC_PORT: String(await freePort()) });
  const ending = new AbortController();
  try {
    const url = `http://localhost:${port}`;
    const { access_token: token } = (await (await post(url, "/auth/login", OPERATOR)).json()) as { access_token: string };
    const idle = await server.spent();
    let reached = 0;
    for (let opened = 0; opened < CHANNELS; opened += AT_ONCE) {
      const open = () => openChannel(url, token, () => void reached++, ending.signal);
      await Promise.all(Array.from({ length: AT_ONCE }, open));
    }
    const before = await server.spent();
    await setTimeout(WATCHED * 1000);
    const after = await server.spent();
    const since = (name: string) => ((after.statements[name] ?? 0) - (before.statements[name] ?? 0)) / WATCHED;
    const failed = performance.now();
    await post(url, "/auth/login", { ...OPERATOR, password: "not the password" });
    while (reached < CHANNELS) await setTimeout(10);
    const took = performance.now() - failed;
    console.log(`${STORAGE}, ${CHANNELS} open channels of one process, watched for ${WATCHED} s\n`);
    console.log("| statement | a second |\n| --- | --- |");
    for (const name of Object.keys(after.statements)) if (since(name) > 0) console.log(`| ${name} | ${since(name).toFixed(1)} |`);
    console.log(
      `\nMemory: ${((after.rss - idle.rss) / CHANNELS / 1024).toFixed(0)} KiB a channel (${(after.rss / 2 ** 20).toFixed(0)} MiB in all).`,
    );
    console.log(
      `Processor: ${(((after.cpu - before.cpu) / WATCHED / 1e6) * 100).toFixed(0)} % of one. A record is on all of them after ${took.toFixed(0)} ms.`,
    );
  } finally {
    ending.abort();
    await server.stop();
    await storage.drop();
  }
}
