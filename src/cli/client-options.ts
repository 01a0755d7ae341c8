import { type Command, InvalidArgumentError, Option } from "commander";
import {
  AGENT_MODES,
  type AgentMode,
  AUTH_METHODS,
  type AuthMethod,
  ENVIRONMENTS,
  type Environment,
  GRANT_TYPES,
  type GrantType,
} from "../clients/client.ts";

/** What the options of `create` and `update` say; what was not said is not there. */
export interface ClientOptions {
  readonly name?: string;
  readonly description?: string;
  readonly redirectUri?: readonly string[];
  readonly scope?: readonly string[];
  readonly grant?: readonly GrantType[];
  readonly authMethod?: AuthMethod;
  readonly environment?: Environment | "unset";
  readonly agent?: boolean;
  readonly maxAgentMode?: AgentMode | "none";
  readonly audience?: readonly string[];
  readonly jwksUri?: string;
}

const gathered = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

const GRANT_NAMES: ReadonlyMap<string, GrantType> = new Map(
  GRANT_TYPES.flatMap((grant) => [
    [grant, grant],
    [grant.slice(grant.lastIndexOf(":") + 1), grant],
  ]),
);
const grants = (value: string, before: readonly GrantType[] = []): readonly GrantType[] => {
  const grant = GRANT_NAMES.get(value);
  if (grant === undefined)
    throw new InvalidArgumentError(`must be one of ${[...GRANT_TYPES].map((known) => known.split(":").at(-1)).join(", ")}`);
  return [...before, grant];
};

/** Options that describe a client; the last ones are for operators. */
export const describing = (command: Command): Command =>
  command
    .option("--description <text>", "shown to whoever manages it")
    .option("--redirect-uri <uri>", "where people come back to; may be given several times", gathered)
    .option("--scope <scope>", "what it may ask for; may be given several times", gathered)
    .option(
      "--grant <grant>",
      "authorization_code, refresh_token, client_credentials; for operators also token-exchange and jwt-bearer",
      grants,
    )
    .addOption(new Option("--auth-method <method>", "how it proves itself").choices(AUTH_METHODS))
    .addOption(new Option("--environment <environment>", "for operators").choices([...ENVIRONMENTS, "unset"]))
    .option("--agent", "for operators: it acts for people by token exchange")
    .option("--no-agent", "for operators: it does not")
    .addOption(new Option("--max-agent-mode <mode>", "for operators: the ceiling of agent modes").choices([...AGENT_MODES, "none"]))
    .option("--audience <resource>", "for operators: a resource that it stands for; may be given several times", gathered)
    .option("--jwks-uri <url>", "for operators: where its public keys are");

/** The members of a developer's request. */
export const developerMembers = (options: ClientOptions) => ({
  ...(options.description !== undefined && { description: options.description }),
  ...(options.redirectUri && { redirectUris: [...options.redirectUri] }),
  ...(options.scope && { scopes: [...options.scope] }),
  ...(options.grant && { grantTypes: [...options.grant] }),
  ...(options.authMethod && { tokenEndpointAuthMethod: options.authMethod }),
});

/** The members that an operator adds. */
export const operatorMembers = (options: ClientOptions) => ({
  ...developerMembers(options),
  ...(options.environment && { environment: options.environment === "unset" ? null : options.environment }),
  ...(options.agent !== undefined && { isAgent: options.agent }),
  ...(options.maxAgentMode && { maxAgentMode: options.maxAgentMode === "none" ? null : options.maxAgentMode }),
  ...(options.audience && { audience: [...options.audience] }),
  ...(options.jwksUri !== undefined && { jwksUri: options.jwksUri }),
});
