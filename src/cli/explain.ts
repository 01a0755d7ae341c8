import type { ManagementInputs, ManagementOutputs } from "@countersign/admin";
import { type Command, InvalidArgumentError } from "commander";
import { CommandFailure, EXIT, EXIT_CODES, textIn } from "./failure.ts";
import { managing } from "./management-api.ts";
import { asJson, record, table, when } from "./table.ts";
import { running, type Terminal } from "./terminal.ts";

type Explained = ManagementOutputs["operator"]["explain"]["tokenRequest"];
type Parameters = ManagementInputs["operator"]["explain"]["tokenRequest"]["parameters"];

interface Options {
  readonly form?: string;
  readonly authorization?: string;
  readonly dpop?: string;
  readonly request?: string;
  readonly demands?: true;
  readonly json?: true;
}

type Pair = readonly [name: string, value: string];

/** `name=value`, or `name=@file` for secrets, which do not belong on a command line. */
function pair(text: string, before: readonly Pair[] = []): readonly Pair[] {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError("must be name=value or name=@file");
  const value = text.slice(at + 1);
  return [...before, [text.slice(0, at), headerOf(value)]];
}

/** `countersign explain …`: how the service evaluates a request, and why. */
export function registerExplainCommand(program: Command, terminal: Terminal): void {
  program
    .command("explain")
    .description(
      "why a token request, or an authorization request (response_type=code), would be granted or refused, rule by rule, for operators; changes nothing",
    )
    .argument("[parameters...]", "the form's fields as name=value, or name=@file", pair)
    .option("--form <file>", "a file with the form as it is sent: grant_type=…&client_id=…")
    .option("--authorization <header>", "the Authorization header, or @file with it, to check the client's secret too")
    .option("--dpop <proof>", "the DPoP header, or @file with it, to check the proof of possession too")
    .option("--request <id>", "instead: an earlier refusal, by the X-Request-Id of its response")
    .option("--demands", "show what each rule requires, in a sentence")
    .option("--json", "as JSON")
    .addHelpText("after", EXIT_CODES.replace("0 done", "0 done, whatever the verdict"))
    .action(
      running(terminal, async (fields: readonly Pair[] | [], options: Options) => {
        const explained = await explain(fields, options, terminal);
        terminal.write(options.json ? asJson(explained) : shown(explained, options.demands === true));
      }),
    );
}

async function explain(fields: readonly Pair[], { form, authorization, dpop, request }: Options, terminal: Terminal): Promise<Explained> {
  const pairs = [...new URLSearchParams(form === undefined ? "" : textIn(form).trim()), ...fields];
  if ((request === undefined) === (pairs.length === 0))
    throw new CommandFailure(
      EXIT.failed,
      "Name either the parameters of a token or authorization request, or --request. `countersign explain --help` has examples.",
    );
  // The message about an unknown request names the values of all options.
  if (request !== undefined && (authorization ?? dpop) !== undefined)
    throw new CommandFailure(EXIT.failed, "--authorization and --dpop go with the parameters of a token request, not with --request.");
  const { operator } = await managing(terminal);
  if (request !== undefined) return operator.explain.refusal.query({ requestId: request });
  if (pairs.some(([name]) => name === "response_type"))
    return operator.explain.authorizationRequest.mutate({ parameters: parametersOf(pairs) });
  return operator.explain.tokenRequest.mutate({
    parameters: parametersOf(pairs),
    authorization: authorization && headerOf(authorization),
    dpop: dpop && headerOf(dpop),
  });
}

const headerOf = (given: string): string => (given.startsWith("@") ? textIn(given.slice(1)).trim() : given);

function parametersOf(pairs: readonly Pair[]): Parameters {
  const values = new Map<string, string[]>();
  for (const [name, value] of pairs) values.set(name, [...(values.get(name) ?? []), value]);
  return Object.fromEntries(values);
}

export const ruleColumns = (demands = false) => ({
  RULE: "rule" as const,
  VERDICT: ({ verdict }: { readonly verdict: string }) => verdict.replaceAll("_", " "),
  ...(demands && { DEMAND: "demand" as const }),
});

function shown({ rules, granted, refused, droppedScope }: Explained, demands: boolean): string {
  const decisive = rules.find(({ verdict }) => verdict === "refused");
  const parts = [
    refused && record({ at: when(refused.at), client: refused.clientId, grant: refused.grantType }),
    rules.length > 0 ? table(rules, { ...ruleColumns(demands), SOURCE: "source" }) : undefined,
    granted && `Would be granted:\n${record({ ...granted, expiresIn: `${granted.expiresIn} s` })}`,
    droppedScope && `Dropped from the scope, because the client may not have it: ${droppedScope.join(" ")}`,
    decisive && `Refused by ${decisive.rule}: ${decisive.error ?? ""} (${decisive.reason ?? ""})\nIt requires: ${decisive.demand}`,
    decisive ? undefined : refused && `Refused: ${refused.error ?? ""} (${refused.reason})`,
  ];
  return parts.filter((part) => part !== undefined).join("\n\n");
}
