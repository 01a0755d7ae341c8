import { defineEntity, p } from "@mikro-orm/core";
import { userReference } from "./accounts.ts";
import { createdAt, hash, moment } from "./columns.ts";

/** A link to a wallet on its way. */
export const WalletLinkRow = defineEntity({
  name: "WalletLinkRow",
  tableName: "wallet_links",
  properties: {
    handleHash: hash().primary(),
    stateHash: hash().unique("wallet_links_state_hash_unique"),
    returnHash: hash().nullable().unique("wallet_links_return_hash_unique"),
    user: () => userReference().index("wallet_links_user_id_index"),
    sessionId: p.uuid(),
    sameDevice: p.boolean(),
    state: p.text().default("pending"),
    reason: p.text().nullable(),
    /** Whom the wallet proved, until the link is decided. */
    issuer: p.text().nullable(),
    subject: p.text().nullable(),
    createdAt: createdAt(),
    expiresAt: moment().index("wallet_links_expires_at_index"),
  },
  checks: [
    {
      name: "wallet_links_state_check",
      expression:
        "state = any (array['pending'::text, 'answered'::text, 'presented'::text, 'linked'::text, 'conflict'::text, 'expired'::text, 'rejected'::text])",
    },
    {
      name: "wallet_links_identity_check",
      expression: "((state = 'presented'::text) = (subject is not null)) and ((issuer is null) = (subject is null))",
    },
  ],
});
