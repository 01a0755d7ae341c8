import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import type { WorkloadTokenSource } from "./credentials.ts";
import { AgentError } from "./errors.ts";
import { fetchJson } from "./http.ts";

const COMMAND_TIMEOUT_MS = 10_000;
const JWT = /[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}/;

/** @param reason part of the message of `workloadToken`, so without a token */
const unavailable = (reason: string, options?: ErrorOptions) => new AgentError("credential_unavailable", reason, options);

/**
 * The projected token of a Kubernetes service account. The file is read for each token request, since the kubelet replaces it. Its audience,
 * which the pod's manifest states, must be the issuer.
 */
export function kubernetesToken(path: string): WorkloadTokenSource {
  return () =>
    readFile(path, "utf8").catch((cause: unknown) => {
      throw unavailable(`${path} cannot be read`, { cause });
    });
}

/**
 * The OIDC token of a GitHub Actions job with the permission `id-token: write`, a new one for each token request.
 * @param env where GitHub says how to get it; default: the environment
 */
export function githubToken(env: Readonly<Record<string, string | undefined>> = process.env): WorkloadTokenSource {
  return async ({ issuer }) => {
    const { ACTIONS_ID_TOKEN_REQUEST_URL: address, ACTIONS_ID_TOKEN_REQUEST_TOKEN: bearer } = env;
    if (!address || !bearer) throw unavailable("this is no GitHub Actions job with the permission id-token: write");
    const url = new URL(address);
    url.searchParams.set("audience", issuer);
    const { status, body } = await fetchJson(globalThis.fetch, url.href, { headers: { authorization: `Bearer ${bearer}` } });
    if (typeof body?.value !== "string") throw unavailable(`GitHub answered ${status} without a token`);
    return body.value;
  };
}

/**
 * The first JWT that a command prints, such as a JWT-SVID of `spire-agent api fetch jwt`. The command runs for each token request, without a shell.
 * @param command its arguments may contain `{issuer}`, which stands for the audience that the token needs
 */
export function commandToken(command: readonly [string, ...string[]]): WorkloadTokenSource {
  return async ({ issuer }) => {
    const [file, ...args] = command.map((part) => part.replaceAll("{issuer}", issuer)) as [string, ...string[]];
    const printed = await new Promise<string>((resolve, reject) => {
      execFile(file, args, { timeout: COMMAND_TIMEOUT_MS, killSignal: "SIGKILL" }, (error, stdout) =>
        error === null ? resolve(stdout) : reject(unavailable(`${file} failed`)),
      );
    });
    const token = JWT.exec(printed)?.[0];
    if (token === undefined) throw unavailable(`${file} printed no JWT`);
    return token;
  };
}
