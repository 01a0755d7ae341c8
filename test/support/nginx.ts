import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./free-port.ts";

/** The version of nginx where it is installed. */
export const NGINX = /nginx\/(\d+\.\d+)/.exec(spawnSync("nginx", ["-v"], { encoding: "utf8" }).stderr ?? "")?.[1];

/** Before 1.25.1, http2 was a parameter of `listen`. */
const listening = (port: number): string =>
  Number(NGINX?.split(".")[1]) < 25 ? `listen ${port} http2;` : `listen ${port};\n    http2 on;`;

/** nginx in front of cores on this machine, with the configuration of deploy/cores.conf. */
export async function nginxBefore(ports: readonly number[]) {
  const directory = mkdtempSync(join(tmpdir(), "countersign-nginx-"));
  const port = await freePort();
  const shipped = readFileSync(new URL("../../deploy/cores.conf", import.meta.url), "utf8");
  const config = ports
    .reduce((text, core, n) => text.replace(`core-${n + 1}:3001`, `127.0.0.1:${core}`), shipped)
    .replace(/listen 3001;\s+http2 on;/, listening(port))
    .replaceAll("/tmp/", `${directory}/`);
  writeFileSync(join(directory, "nginx.conf"), config);
  const child: ChildProcess = spawn("nginx", ["-c", join(directory, "nginx.conf"), "-g", "daemon off;"], { stdio: "ignore" });
  const isUp = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(port, "127.0.0.1", () => resolve(true)).on("error", () => resolve(false));
      socket.on("connect", () => socket.destroy());
    });
  while (!(await isUp())) {
    if (child.exitCode !== null) throw new Error(`nginx did not start with ${join(directory, "nginx.conf")}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return {
    port,
    async close() {
      child.kill("SIGTERM");
      await once(child, "exit");
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
