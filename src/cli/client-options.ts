import { createPublicKey } from "node:crypto";
import type { ManagementInputs } from "@countersign/admin";
import { type Command, InvalidArgumentError, type Option } from "commander";
import { AGENT_MODES, ENVIRONMENTS, OPERATOR_AUTH_METHODS, SECURITY_PROFILES } from "../clients/client.ts";
import { GRANT_TYPES, type GrantType, SELF_SERVICE_GRANT_TYPES } from "../protocol/grants.ts";
import { CommandFailure, EXIT, textIn } from "./failure.ts";
import { collectOr, NULL, orNull, scopesBy, setting } from "./management-api.ts";

/** Options of `create` and `update`: the members of a request, and what stands for some. */
export type ClientOptions = Omit<ManagementInputs["operator"]["clients"]["update"]["patch"], "ownerId" | "jwks"> & {
  readonly operator?: true;
  readonly clientId?: string;
  /** A user, by id or e-mail address; or none. */
  readonly ownerId?: string;
  /** A file, or none. */
  readonly jwks?: string;
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

const list = collectOr({ none: [] });

/** One of some words, or one that stands for null. */
function choice(member: string, flags: string, description: string, words: readonly string[], none: string): Option {
  const option = setting(member, flags, description).choices([...words, none]);
  const { parseArg } = option;
  return option.argParser(orNull(none, (value) => parseArg?.<unknown>(value, undefined)));
}

const SELF_SERVICE_OPTIONS = [
  setting("description", "--description <text>", "shown to those who manage it"),
  setting("redirectUris", "--redirect-uri <uri>", "where users return after authorization; repeatable, or none", list),
  setting("scopes", "--scope <scope>", "a scope that it may request; repeatable, or none", scopesBy(list)),
  setting(
    "grantTypes",
    "--grant <grant>",
    `${listOf(SELF_SERVICE_GRANT_TYPES)}; for operators also ${listOf(OPERATOR_GRANT_TYPES)}`,
    grants,
  ),
  setting("tokenEndpointAuthMethod", "--auth-method <method>", "how it authenticates").choices(OPERATOR_AUTH_METHODS),
  setting("requirePushedAuthorizationRequests", "--require-par", "its authorization requests must be pushed first (RFC 9126)"),
  setting("requirePushedAuthorizationRequests", "--no-require-par", "they need not be"),
];

const OPERATOR_OPTIONS = [
  choice("environment", "--environment <environment>", "for operators", ENVIRONMENTS, "unset"),
  setting("isAgent", "--agent", "for operators: it acts for users by token exchange"),
  setting("isAgent", "--no-agent", "for operators: it does not"),
  choice("maxAgentMode", "--max-agent-mode <mode>", "for operators: the ceiling of agent modes", AGENT_MODES, "none"),
  setting("dpopBoundAccessTokens", "--dpop-bound", "for operators: its tokens must be bound to a key (DPoP)"),
  setting("dpopBoundAccessTokens", "--no-dpop-bound", "for operators: they need not be"),
  choice(
    "securityProfile",
    "--security-profile <profile>",
    "for operators: what its requests must fulfil (docs/fapi.md)",
    SECURITY_PROFILES,
    "none",
  ),
  setting(
    "audience",
    "--audience <resource>",
    "for operators: a resource that it represents; repeatable, or none",
    collectOr({ none: NULL }),
  ),
  setting(
    "postLogoutRedirectUris",
    "--post-logout-redirect-uri <uri>",
    "for operators: where users may go after it signs them out; repeatable, or none",
    list,
  ),
  setting(
    "backchannelLogoutUri",
    "--backchannel-logout-uri <url>",
    "for operators: where it is notified that a session has ended; none removes it",
    orNull("none"),
  ),
  setting("jwksUri", "--jwks-uri <url>", "for operators: the address of its public keys; none removes it", orNull("none")),
  setting("jwks", "--jwks <@file>", "for operators: a file with its public keys as a JWK Set, or with one key as PEM; none removes them"),
];

export const CLIENT_ID = setting("clientId", "--client-id <id>", "for operators: its client_id");
export const OWNER = setting("ownerId", "--owner <user>", "for operators: the user who manages it, by id or e-mail address; or none");

/** Options that describe a client; the last ones are for operators. */
export const describing = (command: Command): Command =>
  [...SELF_SERVICE_OPTIONS, ...OPERATOR_OPTIONS].reduce((described, option) => described.addOption(option), command);

type KeySet = NonNullable<ManagementInputs["operator"]["clients"]["create"]["jwks"]>;

/**
 * The JWK Set of a file, which the server validates, or the public half of its PEM; null for `none`.
 * @throws {CommandFailure} for an unreadable file
 */
export function keySetIn(argument: string | undefined): KeySet | null | undefined {
  if (argument === undefined || argument === "none") return argument && null;
  try {
    const text = textIn(argument.replace(/^@/, ""));
    const isPem = text.trimStart().startsWith("-----BEGIN");
    return (isPem ? { keys: [createPublicKey(text).export({ format: "jwk" })] } : JSON.parse(text)) as KeySet;
  } catch {
    throw new CommandFailure(EXIT.failed, "--jwks: give @ and the path of a readable file with a JWK Set or a key as PEM, or none.");
  }
}

/** Refuses operators' options without --operator, rather than ignore them. @throws {CommandFailure} */
export function assertOwnOptions({ operator, ...given }: ClientOptions): void {
  const options = [...OPERATOR_OPTIONS.filter(({ negate }) => !negate), CLIENT_ID, OWNER];
  const operatorOnly = options.filter((option) => given[option.attributeName() as keyof typeof given] !== undefined);
  if (operator || operatorOnly.length === 0) return;
  throw new CommandFailure(
    EXIT.failed,
    `${operatorOnly.map(({ long }) => long).join(", ")}: for operators only; add --operator if you are one.`,
  );
}
