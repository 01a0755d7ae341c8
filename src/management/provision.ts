import { readFileSync } from "node:fs";
import { z } from "zod";
import { ROLES } from "../accounts/ports.ts";
import { usesSecret } from "../clients/coherence.ts";
import { isRefusal } from "../errors.ts";
import { DisplayName } from "../protocol/display-name.ts";
import { issueWords } from "../protocol/issue-messages.ts";
import { resourceKey } from "../resources/resource.ts";
import { allGrants, clientId, OperatorClientPatch, operatorAuthMethod, requiredAcr, scopes } from "./inputs.ts";
import {
  BrandingInput,
  NewResourceUri,
  newConnection,
  resourceSettings,
  ScopeDescriptionInput,
  WorkloadIssuerInput,
  workloadIdentities,
} from "./record-inputs.ts";

const email = z.email().max(254);

const realm = z.strictObject({
  name: DisplayName,
  dynamicRegistrationScopes: scopes.optional(),
  branding: BrandingInput.optional(),
  requiredAcr: requiredAcr.optional(),
});

const user = z.strictObject({
  email,
  password: z.string().min(8).max(128),
  emailVerified: z.boolean().optional(),
  firstName: DisplayName.nullable().optional(),
  lastName: DisplayName.nullable().optional(),
  role: z.enum(ROLES).optional(),
  realm: DisplayName.optional(),
});

/** Validates members one by one; provisionedChange validates the client as a whole. */
const client = OperatorClientPatch.omit({ ownerId: true, requirePkce: true })
  .extend({
    clientId,
    clientSecret: z.string().min(1).max(512).optional(),
    name: DisplayName,
    grantTypes: allGrants,
    tokenEndpointAuthMethod: operatorAuthMethod,
    workloadIdentities: workloadIdentities.optional(),
    ownerEmail: email.nullable().optional(),
  })
  .check(({ value, issues }) => {
    const { clientSecret, workloadIdentities: identities = [], tokenEndpointAuthMethod: method } = value;
    const stray = [
      ...(clientSecret === undefined || usesSecret(method) ? [] : ["clientSecret"]),
      ...(identities.length === 0 || method === "workload_jwt" ? [] : ["workloadIdentities"]),
    ];
    const message = `does not go with tokenEndpointAuthMethod ${method}`;
    issues.push(...stray.map((member) => ({ code: "custom" as const, path: [member], message, input: value })));
  });

const describedScope = z.strictObject({ ...ScopeDescriptionInput.shape, realm: DisplayName.optional() });

const resource = z.strictObject({ resource: NewResourceUri, ...resourceSettings, realm: DisplayName.optional() });

const connection = z.strictObject({ ...newConnection, realm: DisplayName.optional() });

/** A list without duplicate keys; default: empty. @param what the key is, in faults */
const listOf = <Entry extends z.ZodType>(entry: Entry, key: (value: z.output<Entry>) => string, what: string) =>
  z
    .array(entry)
    .check(({ value, issues }) => {
      const first = new Map<string, number>();
      for (const [index, each] of value.entries()) {
        const earlier = first.get(key(each));
        if (earlier === undefined) first.set(key(each), index);
        else issues.push({ code: "custom", path: [index], message: `names the ${what} of entry ${earlier} again`, input: value });
      }
    })
    .default([]);

/** A provisioning file. Members that are left out stay unchanged. */
export const ProvisionFile = z.strictObject({
  realms: listOf(realm, ({ name }) => name, "realm"),
  users: listOf(user, ({ email }) => email.toLowerCase(), "e-mail address"),
  workloadIssuers: listOf(WorkloadIssuerInput, ({ issuer }) => issuer, "issuer"),
  clients: listOf(client, ({ clientId }) => clientId, "clientId"),
  /** Default: the default realm. */
  scopes: listOf(describedScope, ({ realm = "default", name }) => `${realm} ${name}`, "scope"),
  resources: listOf(resource, ({ realm = "default", resource }) => `${realm} ${resourceKey(resource)}`, "resource"),
  connections: listOf(connection, ({ name, preset }) => name ?? preset ?? "", "connection"),
});
export type ProvisionFile = z.infer<typeof ProvisionFile>;

/** A provisioning file was refused, with one line for each fault. Nothing was written. */
export class ProvisionError extends Error {
  override readonly name = "ProvisionError";
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(faults.join("\n"));
    this.faults = faults;
  }
}

/** A refusal with issues that was thrown by applying the file, as a ProvisionError; any other error unchanged. */
export function asProvisionError(error: unknown, named: string): unknown {
  const issues = isRefusal(error) ? (error.detail.issues ?? []) : [];
  return issues.length === 0 ? error : new ProvisionError(issues.map(({ path, message }) => `${named}: ${path}: ${message}`));
}

/** @throws {ProvisionError} with the path of every fault; values are not repeated, for some are secret */
export function parseProvisionFile(text: string): ProvisionFile {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new ProvisionError(["the file is not JSON"]);
  }
  const repeated = repeatedMembers(text);
  if (repeated.length > 0) throw new ProvisionError(repeated.map((path) => `${path}: is there more than once`));
  const parsed = ProvisionFile.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new ProvisionError(parsed.error.issues.map((issue) => `${issue.path.join(".") || "file"}: ${issueWords(issue)}`));
}

/** @param named the file's name in faults  @throws {ProvisionError} also for an unreadable file */
export function readProvisionFile(path: string, named: string = path): ProvisionFile {
  let content: Buffer;
  try {
    content = readFileSync(path);
  } catch {
    throw new ProvisionError([`${named}: the provisioning file cannot be read`]);
  }
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(content); // leaves out a byte order mark
  } catch {
    throw new ProvisionError([`${named}: the file is not UTF-8`]);
  }
  try {
    return parseProvisionFile(text);
  } catch (error) {
    throw error instanceof ProvisionError ? new ProvisionError(error.faults.map((fault) => `${named}: ${fault}`)) : error;
  }
}

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]/gs;

/** Where JSON names a member of an object again: `clients.0.scopes`. JSON.parse keeps the last one alone. @param json valid JSON */
function repeatedMembers(json: string): string[] {
  const repeated: string[] = [];
  const open: { readonly names: Set<unknown>; at: unknown }[] = [];
  let before = "";
  for (const [token] of json.matchAll(TOKEN)) {
    const inner = open.at(-1);
    if (token === "{" || token === "[") open.push({ names: new Set(), at: token === "[" ? 0 : "" });
    else if (token === "}" || token === "]") open.pop();
    else if (token === "," && typeof inner?.at === "number") inner.at += 1;
    else if (token === ":" && inner !== undefined) {
      inner.at = JSON.parse(before);
      if (inner.names.has(inner.at)) repeated.push(open.map(({ at }) => at).join("."));
      inner.names.add(inner.at);
    }
    before = token;
  }
  return repeated;
}
