import type { MessageInitShape } from "@bufbuild/protobuf";
import type { AuditEntry, AuditEvent } from "../../audit.ts";
import type { Client } from "../../clients/client.ts";
import type { TokenRequest, TokenResponseSchema, WouldBeGrantedSchema } from "../../gen/countersign/token/v1/token_pb.ts";
import type { GrantCase } from "../../protocol/grants.ts";
import { printScope } from "../../protocol/scope.ts";
import type { RuleHead, RuleTrace } from "../policy/rule.ts";
import type { CodeState, Core, FamilyState } from "../ports.ts";
import type { Confirmation } from "../tokens/access-token.ts";

/** The records that are being read for a token request: its client, and the code or the family of the refresh token that it presents. */
export interface Prefetched {
  readonly client: Promise<Client | undefined>;
  readonly code: Promise<CodeState | undefined> | undefined;
  readonly family: Promise<FamilyState | undefined> | undefined;
}

/** What the rules found for the audit record of a refusal before they refused. */
export type RefusalDetails = { -readonly [Member in "userId" | "grantId" | "jti" | "actChain"]?: AuditEntry[Member] };

/** A token request whose client has authenticated. */
export interface GrantRequest<Case extends GrantCase = GrantCase> {
  readonly client: Client;
  readonly grant: Extract<TokenRequest["grant"], { readonly case: Case }>;
  readonly requestId: string;
  readonly prefetched: Prefetched;
  /** The key whose possession the request proved. No proof is read yet. */
  readonly confirmation?: Confirmation;
  /** Filled in while the rules run. */
  readonly refusalDetails: RefusalDetails;
}

/** Which refusals of a grant leave an audit record. Those of confidential clients always do. */
export interface RefusalAudit {
  readonly event: AuditEvent;
  /** Also those of public clients, which then count as failed authentication: anyone can send requests in their name. */
  readonly publicClients: boolean;
  /** Also those of clients that failed to authenticate. */
  readonly unauthenticated: boolean;
}

export type TokenAnswer = MessageInitShape<typeof TokenResponseSchema>;
export type WouldBeGranted = MessageInitShape<typeof WouldBeGrantedSchema>;

/** A grant: its rules in the order of evaluation, and its handlers. */
export interface Grant<Case extends GrantCase> {
  readonly rules: readonly RuleHead[];
  readonly refusalAudit: RefusalAudit;
  /** Evaluates the rules and issues tokens. @throws {Refusal} of the first rule that does not hold */
  issue(request: GrantRequest<Case>, core: Core): Promise<TokenAnswer>;
  /** Evaluates the same rules and writes nothing. @throws {Refusal} as `issue` */
  preview(request: GrantRequest<Case>, core: Core, trace: RuleTrace): Promise<WouldBeGranted>;
}

export const CONFIDENTIAL_ONLY: RefusalAudit = { event: "token.refused", publicClients: false, unauthenticated: false };

export const ACCESS_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:access_token";

/** An access token with the configured lifetime, as `explain` shows it. */
export const previewOf = (scopes: readonly string[], audience: readonly string[], core: Core): WouldBeGranted => ({
  scope: printScope(scopes),
  aud: [...audience],
  expiresIn: core.lifetimes.accessToken,
  issuedTokenType: ACCESS_TOKEN_TYPE,
});
