import type { IncomingMessage, ServerResponse } from "node:http";
import { openToScripts } from "./headers.ts";
import { type HotContext, LightContext } from "./routes.ts";
import { commonHeaders, type EdgeOptions, OVERLOADED, type Step } from "./steps.ts";

/**
 * Refuses requests of one hot route while the front is full, as the route would print it. It is printed once: what refusals cost under a
 * flood is lost to the requests that are served.
 */
export function refusing(
  { name, method, print, cors }: Step<HotContext> & { readonly method: string },
  requestId: () => string,
  edge: EdgeOptions,
): (res: ServerResponse) => void {
  const printed = (res: ServerResponse) => {
    const ctx = new LightContext({ method, headers: {} } as IncomingMessage, res);
    commonHeaders(ctx, edge);
    if (cors) openToScripts(ctx);
    print(ctx, OVERLOADED);
    return ctx.complete();
  };
  let once: ReturnType<typeof printed> | undefined;
  return (res) => {
    once ??= printed(res);
    const id = requestId();
    res.writeHead(once.status, ["X-Request-Id", id, ...once.lines, ...(edge.lifecycle.leaving ? ["Connection", "close"] : [])]);
    res.end(once.body);
    edge.telemetry.observe(name, method, once.status, 0, id);
    edge.telemetry.refused(OVERLOADED, { requestId: id, route: name });
  };
}
