import type { ManagementInputs } from "@countersign/admin";
import { type Command, InvalidArgumentError, Option } from "commander";
import {
  AGENT_MODES,
  type AgentMode,
  type AuthMethod,
  ENVIRONMENTS,
  type Environment,
  OPERATOR_AUTH_METHODS,
  SECURITY_PROFILES,
  type SecurityProfile,
} from "../clients/client.ts";
import { GRANT_TYPES, type GrantType, SELF_SERVICE_GRANT_TYPES } from "../protocol/grants.ts";
import { CommandFailure, EXIT, textIn } from "./failure.ts";

/** Options of `create` and `update`. */
export interface ClientOptions {
  readonly operator?: true;
  readonly clientId?: string;
  readonly owner?: string;
  readonly name?: string;
  readonly description?: string;
  readonly redirectUri?: readonly string[];
  readonly postLogoutRedirectUri?: readonly string[];
  readonly backchannelLogoutUri?: string;
  readonly scope?: readonly string[];
  readonly grant?: readonly GrantType[];
  readonly authMethod?: AuthMethod;
  readonly environment?: Environment | "unset";
  readonly agent?: boolean;
  readonly requirePar?: boolean;
  readonly dpopBound?: boolean;
  readonly securityProfile?: SecurityProfile | "none";
  readonly maxAgentMode?: AgentMode | "none";
  readonly audience?: readonly string[];
  readonly jwksUri?: string;
  readonly jwks?: string;
}

/** The values of an option that may be repeated. */
export const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

/** As `collect`, for a list that a word in its place empties or resets. */
export const collectOr =
  (...words: readonly string[]) =>
  (value: string, before: readonly string[] = []): readonly string[] => {
    const values = collect(value, before);
    const alone = words.find((word) => values.includes(word));
    if (alone !== undefined && values.length > 1) throw new InvalidArgumentError(`${alone} cannot be combined with other values.`);
    return values;
  };

const shortName = (grant: GrantType): string => grant.slice(grant.lastIndexOf(":") + 1);
const listOf = (grants: readonly GrantType[]): string => grants.map(shortName).join(", ");
const OPERATOR_GRANT_TYPES = GRANT_TYPES.filter((grant) => !SELF_SERVICE_GRANT_TYPES.some((selfService) => selfService === grant));
const GRANT_NAMES: ReadonlyMap<string, GrantType> = new Map(
  GRANT_TYPES.flatMap((grant) => [
    [grant, grant],
    [shortName(grant), grant],
  ]),
);
const grants = (value: string, before: readonly GrantType[] = []): readonly GrantType[] => {
  const grant = GRANT_NAMES.get(value);
  if (grant === undefined) throw new InvalidArgumentError(`must be one of ${listOf(GRANT_TYPES)}`);
  return [...before, grant];
};

/** Options that describe a client; the last ones are for operators. */
export const describing = (command: Command): Command =>
  command
    .option("--description <text>", "shown to those who manage it")
    .option("--redirect-uri <uri>", "where users return after authorization; repeatable, or none", collectOr("none"))
    .option("--scope <scope>", "a scope that it may request; repeatable, or none", collectOr("none"))
    .option("--grant <grant>", `${listOf(SELF_SERVICE_GRANT_TYPES)}; for operators also ${listOf(OPERATOR_GRANT_TYPES)}`, grants)
    .addOption(new Option("--auth-method <method>", "how it authenticates").choices(OPERATOR_AUTH_METHODS))
    .option("--require-par", "its authorization requests must be pushed first (RFC 9126)")
    .option("--no-require-par", "they need not be")
    .addOption(new Option("--environment <environment>", "for operators").choices([...ENVIRONMENTS, "unset"]))
    .option("--agent", "for operators: it acts for users by token exchange")
    .option("--no-agent", "for operators: it does not")
    .addOption(new Option("--max-agent-mode <mode>", "for operators: the ceiling of agent modes").choices([...AGENT_MODES, "none"]))
    .option("--dpop-bound", "for operators: its tokens must be bound to a key (DPoP)")
    .option("--no-dpop-bound", "for operators: they need not be")
    .addOption(
      new Option("--security-profile <profile>", "for operators: what its requests must fulfil (docs/fapi.md)").choices([
        ...SECURITY_PROFILES,
        "none",
      ]),
    )
    .option("--audience <resource>", "for operators: a resource that it represents; repeatable, or none", collectOr("none"))
    .option(
      "--post-logout-redirect-uri <uri>",
      "for operators: where users may go after it signs them out; repeatable, or none",
      collectOr("none"),
    )
    .option("--backchannel-logout-uri <url>", "for operators: where it is notified that a session has ended; none removes it")
    .option("--jwks-uri <url>", "for operators: the address of its public keys; none removes it")
    .option("--jwks <@file>", "for operators: its public keys, a JWK Set in a file; none removes them");

/** The single item `none` stands for an empty list. */
const listed = (items: readonly string[] | undefined): string[] | undefined =>
  items?.length === 1 && items[0] === "none" ? [] : items && [...items];

type KeySet = NonNullable<ManagementInputs["operator"]["clients"]["create"]["jwks"]>;

/** The JSON of a file, which the server validates; null for `none`. @throws {CommandFailure} for an unreadable file */
function keySetIn(argument: string | undefined): KeySet | null | undefined {
  if (argument === undefined || argument === "none") return argument && null;
  try {
    return JSON.parse(textIn(argument.replace(/^@/, ""))) as KeySet;
  } catch {
    throw new CommandFailure(EXIT.failed, "--jwks: give @ and the path of a readable JSON file, or none.");
  }
}

/** The option of a member: `--jwks-uri` for `jwksUri`. */
const optionOf = (member: string): string => `--${member.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** Members of clients, and who manages them, that only operators set. */
const OPERATOR_OPTIONS = [
  "environment",
  "agent",
  "maxAgentMode",
  "dpopBound",
  "securityProfile",
  "audience",
  "postLogoutRedirectUri",
  "backchannelLogoutUri",
  "jwksUri",
  "jwks",
  "clientId",
  "owner",
] as const satisfies readonly (keyof ClientOptions)[];

/** Refuses operators' options without --operator, rather than ignore them. @throws {CommandFailure} */
export function assertOwnOptions(options: ClientOptions): void {
  const operatorOnly = OPERATOR_OPTIONS.filter((member) => options[member] !== undefined).map(optionOf);
  if (options.operator || operatorOnly.length === 0) return;
  throw new CommandFailure(EXIT.failed, `${operatorOnly.join(", ")}: for operators only; add --operator if you are one.`);
}

export const developerMembers = (options: ClientOptions) => ({
  description: options.description,
  redirectUris: listed(options.redirectUri),
  scopes: listed(options.scope),
  grantTypes: options.grant && [...options.grant],
  tokenEndpointAuthMethod: options.authMethod,
  requirePushedAuthorizationRequests: options.requirePar,
});

export const operatorMembers = (options: ClientOptions) => ({
  ...developerMembers(options),
  environment: options.environment === "unset" ? null : options.environment,
  isAgent: options.agent,
  maxAgentMode: options.maxAgentMode === "none" ? null : options.maxAgentMode,
  dpopBoundAccessTokens: options.dpopBound,
  securityProfile: options.securityProfile === "none" ? null : options.securityProfile,
  audience: listed(options.audience)?.length === 0 ? null : listed(options.audience),
  postLogoutRedirectUris: listed(options.postLogoutRedirectUri),
  backchannelLogoutUri: options.backchannelLogoutUri === "none" ? null : options.backchannelLogoutUri,
  jwksUri: options.jwksUri === "none" ? null : options.jwksUri,
  jwks: keySetIn(options.jwks),
});
