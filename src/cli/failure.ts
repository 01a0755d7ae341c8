import { readFileSync, readSync } from "node:fs";

export const EXIT = {
  /** The server refused, or something else went wrong. */
  failed: 1,
  /** No user is signed in, or the sign-in failed. */
  notSignedIn: 3,
  notFound: 4,
  /** The server does not answer, or is temporarily unavailable. */
  unreachable: 5,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export const EXIT_CODES = "\nExit codes: 0 done, 1 refused, 3 not signed in, 4 not found, 5 the server does not answer.";

export const NO_COUNTERSIGN =
  "There is no Countersign at COUNTERSIGN_URL: something else answers there. Set it to the issuer of the server.";

/** Codes of a TLS certificate that is not trusted: its authority, its time or its names. */
export const UNTRUSTED = /CERT|SELF_SIGNED|^UNABLE_TO/;

/** Ends a command with a message for the user. */
export class CommandFailure extends Error {
  override readonly name = "CommandFailure";
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** An error, its cause, after part of the work was done; the message says which, and how to do the rest. */
export class PartlyDone extends Error {
  override readonly name = "PartlyDone";
}

/** Of a server that may answer later. */
export const notAnswered = (status: number): CommandFailure =>
  new CommandFailure(EXIT.unreachable, `The server cannot answer right now (status ${status}). Try again later.`);

/** Milliseconds between two looks for input that has not come yet. */
const LOOK = 20;

/** All of standard input. Node does not wait for a pipe once `process.stdin` was touched, as importing `node:process` does: a read then fails with EAGAIN. */
function standardInput(): Buffer {
  const parts: Buffer[] = [];
  for (;;) {
    const part = Buffer.alloc(65_536);
    try {
      const size = readSync(0, part);
      if (size === 0) return Buffer.concat(parts);
      parts.push(part.subarray(0, size));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK);
    }
  }
}

/** A file in messages. Its name is empty where a script names it by a variable that is not set. */
export const shownFile = (file: string): string => (file === "-" ? "Standard input" : file || "A file without a name");

/** The content of a file, or with `-` of standard input. @throws {CommandFailure} */
export function contentOf(file: string): Buffer {
  try {
    return file === "-" ? standardInput() : readFileSync(file);
  } catch {
    throw new CommandFailure(EXIT.failed, `${shownFile(file)} cannot be read.`);
  }
}

/** The text of a file in UTF-8, with or without a byte order mark, or with `-` of standard input. @throws {CommandFailure} */
export function textIn(file: string): string {
  const content = contentOf(file);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(content);
  } catch {
    throw new CommandFailure(EXIT.failed, `${shownFile(file)} is not UTF-8.`);
  }
}

/** A secret in a file, or with `-` on standard input: its text without the end of the line. @throws {CommandFailure} */
export const secretIn = (file: string): string => textIn(file).replace(/\r?\n$/, "");

/** Milliseconds for a request and its answer: less than the lock of a refresh lives. The server gives up after 15 seconds. */
const PATIENCE = 20_000;

/**
 * `fetch` that follows no redirect and does not wait forever.
 * @param patience milliseconds for the whole answer
 * @throws {DOMException} TimeoutError when it takes longer
 */
export const request = (url: string | URL, init: RequestInit = {}, patience = PATIENCE): Promise<Response> =>
  fetch(url, { redirect: "error", signal: AbortSignal.timeout(patience), ...init });

export const postJson = (url: string | URL, body: object): Promise<Response> =>
  request(url, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

/** @throws {CommandFailure} for a server that may answer later: it is overloaded, unavailable or limits its callers */
export function assertAnswers({ status }: Response): void {
  if (status === 429 || status >= 500) throw notAnswered(status);
}
