import type { Command } from "commander";
import { CommandFailure, EXIT, EXIT_CODES } from "../failure.ts";
import { addCommand, collect, type Output, scopesBy } from "../management-api.ts";
import { asJson, printable } from "../table.ts";
import type { Terminal } from "../terminal.ts";
import type { Tokens } from "./server.ts";

interface TokenOptions {
  readonly resource?: readonly string[];
  readonly scope?: readonly string[];
  readonly client?: string;
  readonly device?: true;
  readonly decode?: true;
}

const EXAMPLES = `
Examples:
  curl -H "Authorization: Bearer $(countersign token --resource https://notes.example.com/mcp --scope notes:read)" …
  countersign token --resource http://localhost:4000/mcp --decode
  countersign token --device --scope "openid email" --json`;

export function registerTokenCommand(program: Command, terminal: Terminal): void {
  addCommand(
    program,
    terminal,
    "token",
    "sign in with the browser and print an access token, and nothing else, on standard output",
    (options: TokenOptions) => token(options, terminal),
  )
    .option("--resource <url>", "the server that the token is for; repeatable", collect)
    .option("--scope <scope>", "what it may do there; repeatable. Left out: all that the client may have", scopesBy(collect))
    .option("--client <id>", "a public client of yours; left out: this command line registers itself")
    .option("--device", "show a code for a browser on another device")
    .option("--decode", "print the token's header and claims instead")
    .addHelpText("after", EXAMPLES + EXIT_CODES);
}

async function token({ resource = [], scope, client, device, decode }: TokenOptions, terminal: Terminal): Promise<Output> {
  const { baseUrl } = await import("../session.ts");
  const { keptClient, readServer, registeredClient, UnknownClient } = await import("./server.ts");
  const server = await readServer(baseUrl(terminal));
  const obtain = device ? (await import("./device.ts")).tokensByDevice : (await import("./server.ts")).tokensByBrowser;
  const tokensFor = (clientId: string): Promise<Tokens> =>
    obtain({ server, clientId, scope: scope?.join(" "), resources: resource }, terminal);
  const known = client ?? keptClient(server, terminal);
  const answer = await tokensFor(known ?? (await registeredClient(server, undefined, terminal))).catch(async (error: unknown) => {
    // The server deletes clients that were not used for long.
    if (!(error instanceof UnknownClient) || client !== undefined || known === undefined) throw error;
    return tokensFor(await registeredClient(server, known, terminal));
  });
  const warning = () => leftOut(scope, answer);
  if (!decode) return { value: answer, text: answer.access_token, warning };
  const decoded = decodedJwt(answer.access_token);
  return { value: decoded, text: asJson(decoded), warning };
}

/** Which of the requested scopes the token does not have. An answer without `scope` grants all of them (RFC 6749 §5.1). */
function leftOut(requested: readonly string[] = [], { scope }: Tokens): string | undefined {
  const granted = scope?.split(" ");
  const missing = requested.filter((each) => each !== "" && granted?.includes(each) === false);
  if (missing.length === 0) return undefined;
  return `The token does not have these scopes: ${printable(missing.join(" "))}. What to check is in docs/resources.md.`;
}

/** Header and claims of a JWT, unverified. @throws {CommandFailure} for a token that is none */
function decodedJwt(jwt: string): { readonly header: unknown; readonly claims: unknown } {
  try {
    const [header, claims] = jwt.split(".", 2).map((part): unknown => JSON.parse(Buffer.from(part, "base64url").toString()));
    if (header instanceof Object && claims instanceof Object) return { header, claims };
  } catch {
    // Not JSON either.
  }
  throw new CommandFailure(EXIT.failed, "The token is no JWT: only the server that issued it can read it.");
}
