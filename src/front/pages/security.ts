import type { Handler } from "../routes.ts";
import { languageOf } from "../texts/language.ts";
import type { PageKit } from "./kit.ts";
import { ownPage } from "./own.ts";
import { sendPage } from "./send.ts";
import { securityView } from "./views/security.ts";

/** GET /account/security: where the person is signed in. */
export const securityPage = (kit: PageKit): Handler =>
  ownPage(kit, (ctx, { token }) => sendPage(ctx, securityView(kit.site, languageOf(ctx), { token })));
