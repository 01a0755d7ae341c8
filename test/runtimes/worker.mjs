// A guarded worker with Fetch, WebCrypto and settings as bindings. It verifies locally, or by introspection below /introspection.
import { createGuard, introspection } from "@countersign/guard";

const hasNodeCrypto = () => globalThis.process?.getBuiltinModule?.("node:crypto") !== undefined;

function guardedBy({ RESOURCE: resource, ISSUER }, way = {}) {
  const guard = createGuard({ resource, authorizationServers: [ISSUER], scopes: ["notes:read"], ...way });
  return guard.protect(({ headers }, principal) =>
    Response.json({ principal, authorization: headers.get("authorization"), hasNodeCrypto: hasNodeCrypto() }),
  );
}

let local;
let asking;

export default {
  fetch(request, env) {
    local ??= guardedBy(env);
    asking ??= guardedBy(env, { verification: introspection({ clientId: env.CLIENT_ID, clientSecret: env.CLIENT_SECRET }) });
    return new URL(request.url).pathname === "/introspection" ? asking(request) : local(request);
  },
};
