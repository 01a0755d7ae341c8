import { NotAnswered, refusalOf } from "@countersign/admin";
import { CommandFailure, EXIT, type ExitCode, NO_COUNTERSIGN, notAnswered, PartlyDone, UNTRUSTED } from "./failure.ts";
import { printable } from "./table.ts";

const CODES: { readonly [Status in number]?: ExitCode } = {
  401: EXIT.notSignedIn,
  404: EXIT.notFound,
  429: EXIT.unreachable,
  503: EXIT.unreachable,
};

export interface FailureContext {
  /** The base URL of the server. */
  readonly server: string;
  /** As whom the command acted, if known. */
  readonly email: string | undefined;
  /** The objects that the arguments of the command name. */
  readonly named: readonly string[];
  /** What the command takes, by the members of a request: `--scope` by `scopes`, `issuer` by `issuer`. */
  readonly takes: ReadonlyMap<string, string>;
}

/** Any error as a failure with a message that says what to do. */
export function asFailure(error: unknown, context: FailureContext): CommandFailure {
  if (error instanceof CommandFailure) return error;
  if (error instanceof PartlyDone) {
    const { exitCode, message } = asFailure(error.cause, context);
    return new CommandFailure(exitCode, `${error.message}\n  ${message}`);
  }
  if (error instanceof Error && error.cause instanceof CommandFailure) return error.cause; // the session could not be renewed
  const refusal = refusalOf(error);
  if (refusal !== undefined) {
    const issues = refusal.issues.map(({ path, message }) => `\n  ${memberOf(path, context.takes)}: ${message}`);
    return new CommandFailure(CODES[refusal.httpStatus] ?? EXIT.failed, `${explained(refusal, context)}${issues.join("")}`);
  }
  if (error instanceof Error && error.cause instanceof NotAnswered) return notAnswered(error.cause.status);
  if (isNotCountersign(error)) return new CommandFailure(EXIT.unreachable, NO_COUNTERSIGN);
  const untrusted = untrustedBy(error);
  if (untrusted !== undefined) return new CommandFailure(EXIT.unreachable, untrustedText(context.server, untrusted));
  if (isUnreachable(error)) return new CommandFailure(EXIT.unreachable, `The server at ${context.server} does not answer.`);
  return new CommandFailure(EXIT.failed, error instanceof Error ? error.message : String(error));
}

/** Whether the server may answer later: it cannot be reached, or says that it is temporarily unavailable. */
export const isAway = (error: unknown): boolean =>
  asFailure(error, { server: "", email: undefined, named: [], takes: new Map() }).exitCode === EXIT.unreachable;

/** The role that a user lacks, by the server's message. */
const LACKED: readonly (readonly [message: RegExp, role: string])[] = [
  [/role developer/, "developer"],
  [/for operators|Only operators/, "operator"],
];

/** The server's message, with the object that was not found, or with the way to get the role that the user lacks. */
function explained({ httpStatus, message }: { readonly httpStatus: number; readonly message: string }, context: FailureContext): string {
  const { server, email = "you", named } = context;
  if (message === "temporarily_unavailable") return notAnswered(httpStatus).message;
  if (message === "invalid_token") return `${server} does not accept the session of ${email} any more. Run \`countersign login\`.`;
  if (httpStatus === 404 && named.length > 0) return `${message.replace(/\.$/, "")} at ${server}: ${printable(named.join(", "))}.`;
  const role = httpStatus === 403 ? LACKED.find(([words]) => words.test(message))?.[1] : undefined;
  if (role === undefined) return message;
  return `${message} You are signed in as ${email}; an operator can give you the role with \`countersign users role ${email} ${role}\`.`;
}

/** The errors of `fetch`: of a request, and of a connection that breaks within the body of its answer. */
const FETCH_ERRORS: readonly string[] = ["fetch failed", "terminated"];

/** Whether `fetch` found no server, or none that answers completely and in time, by its own error or wrapped by the client. */
const isUnreachable = (error: unknown): boolean =>
  error instanceof Error &&
  ((error instanceof TypeError && FETCH_ERRORS.includes(error.message)) || error.name === "TimeoutError" || isUnreachable(error.cause));

/** The code by which the certificate of a server was refused, within the errors of `fetch`. */
function untrustedBy(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code, cause } = error as NodeJS.ErrnoException;
  return code !== undefined && UNTRUSTED.test(code) ? code : untrustedBy(error instanceof AggregateError ? error.errors[0] : cause);
}

const untrustedText = (server: string, code: string): string =>
  `The TLS certificate of ${server} is not trusted here (${code}). NODE_EXTRA_CA_CERTS names a file with further authorities.`;

/** Codes of a connection that breaks after it was made. */
const BROKEN: readonly unknown[] = ["UND_ERR_SOCKET", "ECONNRESET", "EPIPE"];

/** Whether a request may have reached the server, and its answer did not come. */
export const isAnswerLost = (error: unknown): boolean =>
  error instanceof Error &&
  (error instanceof NotAnswered ||
    error.name === "TimeoutError" ||
    BROKEN.includes((error as NodeJS.ErrnoException).code) ||
    isAnswerLost(error.cause));

/** Whether the response cannot come from a Countersign, such as an HTML page or a redirect. */
const isNotCountersign = (error: unknown): boolean =>
  error instanceof Error && (error instanceof SyntaxError || error.message === "unexpected redirect" || isNotCountersign(error.cause));

/** The options of the parts of a member, or of one part: `--title-en` and `--title-de` of `title`. */
function partsOf(member: string, part: string | undefined, takes: FailureContext["takes"]): string {
  const wanted = (rest: string): boolean => (part === undefined ? /^[A-Z]/.test(rest) : rest.toLowerCase() === part);
  const keys = [...takes.keys()].filter((key) => key.startsWith(member) && wanted(key.slice(member.length)));
  return keys.map((key) => takes.get(key)).join(" or ");
}

/** A member by the name of what the command takes, with the number of the entry: `--scope, entry 1`. */
function memberOf(path: string, takes: FailureContext["takes"]): string {
  const steps = path.split(".").filter((step) => step !== "patch" && step !== "key");
  const [member = "", entry] = steps;
  // Only files have members in entries; their authors find the place by its path.
  if (steps.length > 2 && /^\d+$/.test(entry ?? "")) return path;
  if (member === "") return "request";
  const argument = [...takes.values()].find((name) => !name.startsWith("-") && member.startsWith(name));
  const known = takes.get(member) ?? takes.get(member.replace(/s$/, "")) ?? argument;
  const parts = known === undefined ? partsOf(member, entry, takes) : "";
  if (parts !== "") return parts;
  const name = known ?? member;
  return entry !== undefined && /^\d+$/.test(entry) ? `${name}, entry ${Number(entry) + 1}` : [name, entry].filter(Boolean).join(" ");
}
