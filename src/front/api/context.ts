import { AccessTokenUse } from "../../gen/countersign/token/v1/token_pb.ts";
import type { TokenCore } from "../../grpc/local.ts";
import type { Bearers, ManagementPorts } from "../../management/ports.ts";
import type { ManagementContext } from "../../management/trpc.ts";
import type { FrontContext } from "../http/routes.ts";
import type { ReportFault } from "../ports.ts";

/** What the two faces of the management API need. */
export interface ManagementRoutesOptions {
  readonly issuer: string;
  readonly ports: ManagementPorts;
  readonly fault: ReportFault;
}

/** Lets the core judge who manages. */
export const bearersOf = (core: TokenCore): Bearers => ({
  async judge(accessToken, signal) {
    const bearer = await core.verifyAccessToken({ accessToken, use: AccessTokenUse.MANAGEMENT }, { ...(signal && { signal }) });
    return { userId: bearer.sub, clientId: bearer.clientId, role: bearer.role === "operator" ? "operator" : "developer" };
  },
});

export const contextOf = (ctx: FrontContext, ports: ManagementPorts): ManagementContext => ({
  ports,
  authorization: ctx.req.headers.authorization,
  address: ctx.state.address,
  requestId: ctx.state.requestId,
  signal: ctx.state.signal,
});
