import type { ClientConsent, ClientConsents, ConsentCounts } from "../management/client-ports.ts";
import { EMPTY_PAGE, TOTAL_LIMIT } from "../paging.ts";
import { CONSENT } from "./consents.ts";
import { type ListDescription, listPage } from "./list-query.ts";
import { isStorable, statement, type Tx } from "./sql.ts";
import { CONSENTS } from "./tables/accounts.ts";

const LIST: ListDescription<"created"> = {
  table: CONSENTS,
  select: `${CONSENTS.select(CONSENT)}, users.email`,
  joins: { userId: "users" },
  search: ["users.email"],
  sorts: { created: { by: null, order: "desc" } },
};

const COUNTS = statement(
  "client_consent_counts",
  `select count(*)::int as total, count(*) filter (where last_used_at > now() - interval '30 days')::int as "usedLately"
   from (select last_used_at from consents where client_id = $1 limit ${TOTAL_LIMIT + 1}) as counted`,
);

export const clientConsents = (sql: Tx): ClientConsents => ({
  list: async (clientId, { search }, part) =>
    isStorable(clientId) ? listPage<ClientConsent, "created">(sql, LIST, { where: { clientId }, search }, part) : EMPTY_PAGE,
  counts: async (clientId) => {
    const [counts] = isStorable(clientId) ? await sql.query<ConsentCounts>(COUNTS, [clientId]) : [];
    return counts ?? { total: 0, usedLately: 0 };
  },
});
