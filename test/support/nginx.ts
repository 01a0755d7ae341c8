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

/**
 * nginx in front of processes on this machine, with the configuration of deploy/proxy.conf.
 * @param fronts `host:port` of HTTP  @param cores `host:port` of gRPC
 */
export async function nginxBefore(fronts: readonly string[], cores: readonly string[], port: number) {
  const directory = mkdtempSync(join(tmpdir(), "countersign-nginx-"));
  const grpcPort = await freePort();
  const shipped = readFileSync(new URL("../../deploy/proxy.conf", import.meta.url), "utf8");
  const placed = (text: string, [name, ports]: readonly [string, readonly string[]]) =>
    ports.reduce((all, address, n) => all.replace(new RegExp(`${name}-${n + 1}:\\d+`), address), text);
  const config = [["front", fronts] as const, ["core", cores] as const]
    .reduce(placed, shipped)
    .replace(/listen 3001;\s+http2 on;/, listening(grpcPort))
    .replace("listen 3000;", `listen ${port};`)
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
    grpcPort,
    async close() {
      child.kill("SIGTERM");
      await once(child, "exit");
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
