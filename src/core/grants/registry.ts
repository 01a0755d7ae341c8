import type { TokenRequest } from "../../gen/countersign/token/v1/token_pb.ts";
import type { GrantCase } from "../../protocol/grants.ts";
import { authorizationCode } from "./authorization-code/grant.ts";
import { clientCredentials } from "./client-credentials/grant.ts";
import type { Grant } from "./grant.ts";
import { jwtBearer } from "./jwt-bearer/grant.ts";
import { refreshToken } from "./refresh-token/grant.ts";
import { tokenExchange } from "./token-exchange/grant.ts";

/** Rules and handler of every grant. protocol/grants.ts has its names and parameters; neither compiles without the other's row. */
const REGISTRY: { readonly [Case in GrantCase]: Grant<Case> } = {
  authorizationCode,
  refreshToken,
  clientCredentials,
  tokenExchange,
  jwtBearer,
};

/** The row that answers a grant. */
export const grantOf = (grant: Extract<TokenRequest["grant"], { readonly case: GrantCase }>): Grant<GrantCase> =>
  REGISTRY[grant.case] as Grant<GrantCase>; // the row is of the same case as the request that it will be given

export const rulesOfGrant = (name: GrantCase): Grant<GrantCase>["rules"] => REGISTRY[name].rules;
