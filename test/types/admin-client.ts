import type { AdminClient } from "@countersign/admin";

/**
 * Never called: type checking fails where a line below `@ts-expect-error` compiles.
 * All names come from the router's types alone.
 */
export async function wrongFieldsAreCompileErrors(admin: AdminClient): Promise<void> {
  const created = await admin.clients.create.mutate({ name: "Notes", grantTypes: ["authorization_code"] });
  created.clientSecret satisfies string | undefined;
  created.createdAt satisfies number;
  // @ts-expect-error isAgent is reserved for operators
  await admin.clients.create.mutate({ name: "Notes", isAgent: true });
  // @ts-expect-error token exchange is reserved for operators
  await admin.clients.create.mutate({ name: "Notes", grantTypes: ["urn:ietf:params:oauth:grant-type:token-exchange"] });
  // @ts-expect-error the name is required
  await admin.clients.create.mutate({});
  // @ts-expect-error client_id is immutable
  await admin.clients.update.mutate({ id: created.id, patch: { clientId: "mine" } });
  // @ts-expect-error a client is read without its secret
  (await admin.clients.get.query({ id: created.id })).clientSecret satisfies string;
  // @ts-expect-error list is a query, not a mutation
  await admin.clients.list.mutate();
  // @ts-expect-error no such procedure
  await admin.clients.purge.mutate({ id: created.id });

  const { ended } = await admin.operator.delegations.cut.mutate({ kind: "agent", clientId: "agent", userId: created.id });
  ended satisfies number;
  // @ts-expect-error a grant has an id and no client_id
  await admin.operator.delegations.cut.mutate({ kind: "grant", clientId: "agent" });

  await admin.operator.clients.update.mutate({ id: created.id, patch: { isAgent: true, maxAgentMode: "exec", environment: "staging" } });
  // @ts-expect-error no such mode
  await admin.operator.clients.update.mutate({ id: created.id, patch: { maxAgentMode: "root" } });
  // @ts-expect-error the client sends calls, and reads no streams
  admin.live.audit.subscribe({}, {});
}
