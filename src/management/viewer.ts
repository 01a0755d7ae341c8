import type { Reach } from "../clients/ports.ts";
import { actsOf, actsOnClient, actsOnUser, isOperator } from "./acts.ts";
import { found } from "./clients.ts";
import { ById } from "./inputs.ts";
import { developerProcedure, operatorProcedure, router } from "./trpc.ts";
import { userView } from "./views.ts";

const ALL: Reach = { kind: "all" };

/** The caller, and what the caller may do. @see docs/protocol.md#viewer */
export const viewerRouter = router({
  get: developerProcedure.query(async ({ ctx: { ports, caller } }) => ({
    ...userView(found(await ports.users.byId(caller.userId))),
    can: actsOf(caller, ports.signUpPolicy),
  })),

  /** What the caller may do with a client: with any as an operator, otherwise with their own. @throws {Refusal} not_found */
  client: developerProcedure.input(ById).query(async ({ ctx: { ports, caller, reach }, input: { id } }) => ({
    can: actsOnClient(caller, found(await ports.clients.byId(id, isOperator(caller) ? ALL : reach))),
  })),

  /** What an operator may do with a user. @throws {Refusal} not_found */
  user: operatorProcedure.input(ById).query(async ({ ctx: { ports, caller }, input: { id } }) => ({
    can: actsOnUser(caller, found(await ports.users.byId(id)).id),
  })),
});
