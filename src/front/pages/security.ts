import type { Handler } from "../routes.ts";
import type { PageKit } from "./kit.ts";
import { ownPage } from "./own.ts";
import { sendPage } from "./send.ts";
import { securityView } from "./views/security.ts";

/** GET /account/security: where the person is signed in. */
export const securityPage = (kit: PageKit): Handler => ownPage(kit, (ctx, { token }) => sendPage(ctx, securityView(kit.site, { token })));
