import type { AdminClient, ManagementInputs, ManagementOutputs } from "@countersign/admin";
import { type Command, InvalidArgumentError, Option } from "commander";
import { CLIENT_ASSERTION_ALGORITHMS } from "../clients/client.ts";
import { isOpenIdentity, WORKLOAD_KINDS } from "../clients/workload.ts";
import { ruleColumns } from "./explain.ts";
import { textIn } from "./failure.ts";
import {
  collect,
  digits,
  everyPage,
  LIMIT,
  listed,
  type Most,
  managementCommands,
  type Output,
  orNull,
  setting,
  Yes,
} from "./management-api.ts";
import { printable, record, table, when } from "./table.ts";
import type { Terminal } from "./terminal.ts";

type Operator = ManagementOutputs["operator"];
type Issuer = Operator["workloadIssuers"]["get"];
type Identity = Operator["workloadIdentities"]["add"];
type NewIssuer = ManagementInputs["operator"]["workloadIssuers"]["create"];
type Settings = Omit<NewIssuer, "issuer" | "kind">;

/** `name=value`. */
function claim(text: string, before: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError("must be name=value");
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

const ALGORITHMS = CLIENT_ASSERTION_ALGORITHMS.join(", "); // the server refuses others

const withSettings = (command: Command): Command =>
  command
    .addOption(
      setting(
        "jwksUri",
        "--jwks-uri <url>",
        "where its keys are, if not where its discovery document says; none removes it",
        orNull("none"),
      ),
    )
    .addOption(setting("bundleEndpoint", "--bundle-endpoint <url>", "of a SPIFFE trust domain: where its bundle is", orNull("none")))
    .addOption(setting("algorithms", "--algorithm <name>", `a signature algorithm, of ${ALGORITHMS}; repeatable`, collect))
    .option("--max-lifetime <seconds>", "the longest life of a token", digits(/^\d{1,6}$/, "a number of seconds"))
    .option("--single-use", "accept each token once, by its jti")
    .option("--no-single-use", "accept a token until it expires")
    .option("--allow-private", "its keys may be at a private address")
    .option("--no-allow-private", "only at public addresses");

export function registerWorkloadCommands(program: Command, terminal: Terminal): void {
  const command = managementCommands(program, terminal, "workloads", "platforms whose tokens authenticate clients, for operators");

  command("list", "list the platforms that are trusted", list).addOption(LIMIT);
  withSettings(
    command(
      "add <issuer>",
      "trust a platform: a URL, or spiffe://trust-domain",
      (admin, issuer: string, options: Omit<NewIssuer, "issuer">) =>
        admin.operator.workloadIssuers.create.mutate({ issuer, ...options }).then(shown),
    ),
  ).addOption(new Option("--kind <kind>", "what it is").choices(WORKLOAD_KINDS).makeOptionMandatory());
  command("show <issuer>", "show a platform, and which workloads on it are clients", show);
  withSettings(
    command("update <issuer>", "change a platform", (admin, issuer: string, options: Settings) =>
      admin.operator.workloadIssuers.update.mutate({ issuer, ...options }).then(shown),
    ),
  );
  command("remove <issuer>", "trust a platform no longer, and remove all identities on it", async (admin, issuer: string) => {
    await admin.operator.workloadIssuers.remove.mutate({ issuer });
    return { value: { issuer }, text: `removed ${printable(issuer)}` };
  }).addOption(new Yes("Remove this platform with all identities on it?"));
  registerIdentityCommands(command);
  command(
    "test <token>",
    "which rule a token fulfils or not, and which client it is; the token, @file with it, or - for standard input",
    test,
  )
    .option("--signature", "verify the signature too; the platform's keys are fetched if they are not known")
    .option("--demands", "show what each rule requires, in a sentence");
}

type IdentityOptions = { readonly issuer: string; readonly subject: string; readonly claim?: Readonly<Record<string, string>> };

function registerIdentityCommands(command: ReturnType<typeof managementCommands>): void {
  command("assign <client>", "let a workload be a client of workload_jwt, named by its client_id", assign)
    .requiredOption("--issuer <issuer>", "the platform")
    .requiredOption("--subject <subject>", "what the platform calls it; a SPIFFE ID may end in /*")
    .option("--claim <name=value>", "a claim that its token must have; repeatable", claim);
  command("unassign <id>", "let a workload be a client no longer, by the identity's id", async (admin, id: string) => {
    await admin.operator.workloadIdentities.remove.mutate({ id });
    return { value: { id }, text: `removed ${printable(id)}` };
  }).addOption(new Yes("Remove this identity?"));
}

async function list({ operator }: AdminClient, { limit }: Most): Promise<Output> {
  const { items, total } = await listed("issuers", (at) => operator.workloadIssuers.list.query(at), limit);
  const identities = async (issuer: string): Promise<string> => {
    return (await listed("identities", (at) => operator.workloadIdentities.list.query({ ...at, issuer }), 1)).total;
  };
  const counted = await Promise.all(items.map(async (item) => ({ ...item, identities: await identities(item.issuer) })));
  const seconds = ({ maxLifetime }: Issuer) => `${maxLifetime} s`;
  const columns = { ISSUER: "issuer", KIND: "kind", "SINGLE USE": "singleUse", "LONGEST LIFE": seconds, IDENTITIES: "identities" } as const;
  const text = () => table(counted, columns);
  return { value: items, text, total, whenEmpty: "No platform is trusted yet. Add one: countersign workloads add ISSUER --kind oidc" };
}

async function show(admin: AdminClient, issuer: string): Promise<Output> {
  const found = await admin.operator.workloadIssuers.get.query({ issuer });
  const identities = await everyPage("identities", (at) => admin.operator.workloadIdentities.list.query({ issuer, ...at }));
  const columns = { CLIENT: "clientId", SUBJECT: "subject", CLAIMS: ({ claims }: Identity) => claimsText(claims), ID: "id" } as const;
  const { text } = shown(found);
  const table_ = identities.length === 0 ? "" : `\n\n${table(identities, columns)}`;
  return { value: { ...found, identities }, text: `${text}${table_}` };
}

async function assign(admin: AdminClient, clientId: string, { issuer, subject, claim: claims = {} }: IdentityOptions): Promise<Output> {
  const added: Identity = await admin.operator.workloadIdentities.add.mutate({ clientId, issuer, subject, claims: { ...claims } });
  const text = record({
    id: added.id,
    client: added.clientId,
    issuer: added.issuer,
    subject: added.subject,
    claims: claimsText(added.claims),
  });
  const warning = () =>
    isOpenIdentity(added) ? "Any branch or pull request of this repository could present it: pin an environment or a ref." : undefined;
  return { value: added, text, warning };
}

const claimsText = (claims: Identity["claims"]): readonly string[] => Object.entries(claims).map(([name, value]) => `${name}=${value}`);

type TestOptions = { readonly signature?: true; readonly demands?: true };

async function test(admin: AdminClient, argument: string, { signature, demands }: TestOptions): Promise<Output> {
  const token = /^(?:@|-$)/.test(argument) ? textIn(argument.replace(/^@/, "")).trim() : argument;
  const tested = await admin.operator.workloadIssuers.test.mutate({ token, signature: signature === true });
  const decisive = tested.rules.find(({ verdict }) => verdict === "refused");
  const outcome = decisive
    ? `Refused by ${decisive.rule}: ${decisive.reason ?? ""}\nIt requires: ${decisive.demand}`
    : `It is the client ${printable(tested.clientId ?? "")}.${signature ? "" : " Its signature was not verified: add --signature."}`;
  return { value: tested, text: `${table(tested.rules, ruleColumns(demands))}\n\n${outcome}` };
}

const shown = (issuer: Issuer) => ({
  value: issuer,
  text: record({
    issuer: issuer.issuer,
    kind: issuer.kind,
    "address of its keys": issuer.bundleEndpoint ?? issuer.jwksUri ?? "by its discovery document",
    algorithms: issuer.algorithms,
    "longest life": `${issuer.maxLifetime} s`,
    "single use": issuer.singleUse,
    "private address": issuer.allowPrivate,
    changed: when(issuer.updatedAt),
  }),
});
