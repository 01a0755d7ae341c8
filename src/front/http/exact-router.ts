import { Router } from "@koa/router";
import type { Middleware } from "koa";
import { Refusal } from "../../errors.ts";
import type { ReportFault } from "../ports.ts";
import { errorsAs } from "./errors.ts";
import type { ErrorPrinter, FrontState } from "./routes.ts";

/**
 * A router whose paths have one spelling: case counts, a slash at the end counts, and nothing is percent-encoded, since no parameter of ours
 * needs it. What its routes throw is printed by `print`.
 */
export function exactRouter(print: ErrorPrinter, fault: ReportFault): Router<FrontState> {
  const router = new Router<FrontState>({ sensitive: true, strict: true });
  return router.use(errorsAs(print, fault), refuseEncoded);
}

const refuseEncoded: Middleware<FrontState> = (ctx, next) => {
  if (ctx.path.includes("%")) throw new Refusal("not_found", "percent_encoded_path");
  return next();
};
