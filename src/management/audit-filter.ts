import { z } from "zod";
import { AUDIT_EVENTS } from "../audit.ts";
import type { AuditFilter } from "./audit-ports.ts";
import { identifier, moment, search, secondsOf } from "./inputs.ts";

/** The members by which audit records are filtered. */
export const auditFilter = {
  event: z.enum(AUDIT_EVENTS).optional(),
  outcome: z.enum(["success", "failure"]).optional(),
  reason: identifier,
  actorId: identifier,
  userId: identifier,
  clientId: identifier,
  grantId: identifier,
  jti: identifier,
  requestId: identifier,
  since: moment,
  until: moment,
  /** Any identifier of a record, exactly. */
  search,
};

type Filter = z.output<z.ZodObject<typeof auditFilter>>;

export const auditFilterOf = ({ since, until, ...members }: Filter): AuditFilter => ({
  ...members,
  since: secondsOf(since),
  until: secondsOf(until),
});
