import { rename, revokeConsent } from "../../../accounts/account.ts";
import { resendVerification } from "../../../accounts/registration.ts";
import { inMilliseconds } from "../../../clock.ts";
import { sessionView } from "../../../management/views.ts";
import { PHISHING_RESISTANT_ACR } from "../../../protocol/authentication-context.ts";
import type { Form } from "../../../protocol/form.ts";
import { assertShape, NameBody } from "../../auth/shapes.ts";
import { donePath } from "../../done.ts";
import { sendJson } from "../../http/answers.ts";
import { accountForm, accountPageHandler, failedForm, goneAfter } from "../kit.ts";
import { ACCOUNT_START, SET_UP_DONE } from "../views/sections.ts";
import { showAccount } from "./view.ts";

/** Seconds after a sign-in in which a passkey is offered. */
const JUST_NOW = 60;

/** GET /account: profile and the applications with access. */
export const accountPage = accountPageHandler((visit, { signedIn: { user, session }, done }) => {
  const offersPasskey =
    visit.ports.relyingParty !== undefined && session.reachableAcr !== PHISHING_RESISTANT_ACR && session.proofAge < JUST_NOW;
  return showAccount(visit, user, { done, offersPasskey, offersConsole: done === SET_UP_DONE && user.role === "operator" });
});

/** GET /account/data: what the service keeps about the user, without secrets, as a JSON file (docs/privacy.md). Times are milliseconds since the epoch. */
export const dataPage = accountPageHandler(async (visit, { signedIn: { user } }) => {
  const { delegations, agentPauses, consents, sessions, clients, identityLinks, passkeys, secondFactors, linkedWallets } = visit.ports;
  const [agents, pauses, applications, signIns, owned, identities, keys, { appAddedAt }, wallet] = await Promise.all([
    delegations.agentsOf(user.id),
    agentPauses.ofUser(user.id),
    consents.ofUser(user.id),
    sessions.ofUser(user.id),
    clients.ofOwner(user.id),
    identityLinks.ofUser(user.id),
    passkeys.ofUser(user.id),
    secondFactors.stateOf(user.id),
    linkedWallets.ofUser(user.id),
  ]);
  visit.ctx.set("Content-Disposition", 'attachment; filename="account.json"');
  sendJson(visit.ctx, {
    profile: inMilliseconds(user, "createdAt", "updatedAt"),
    applications: applications.map(({ clientId, clientName, scopes, resources, createdAt: allowedAt, lastUsedAt }) =>
      inMilliseconds({ clientId, clientName, scopes, resources, allowedAt, lastUsedAt }, "allowedAt", "lastUsedAt"),
    ),
    agents: agents.map((access) => inMilliseconds(access, "firstIssuedAt", "lastIssuedAt", "expiresAt")),
    pausedAgents: pauses.map((pause) => inMilliseconds(pause, "pausedAt")),
    sessions: signIns.map(({ id: _, ...session }) => sessionView(session)),
    clients: owned.map(({ clientId, name, redirectUris, scopes }) => ({ clientId, name, redirectUris, scopes })),
    identities: identities.map(({ issuer, subject, email, confirmed: signsIn, createdAt: linkedAt }) =>
      inMilliseconds({ issuer, subject, email, signsIn, linkedAt }, "linkedAt"),
    ),
    passkeys: keys.map(({ name, backedUp, createdAt, lastUsedAt }) =>
      inMilliseconds({ name, backedUp, createdAt, lastUsedAt }, "createdAt", "lastUsedAt"),
    ),
    authenticatorApp: appAddedAt === null ? null : inMilliseconds({ addedAt: appAddedAt }, "addedAt"),
    wallet: wallet === undefined ? null : inMilliseconds({ issuer: wallet.issuer, linkedAt: wallet.linkedAt }, "linkedAt"),
  });
});

export const profilePage = accountForm(
  async (visit, form, { user }) => {
    await rename(user, assertShape(NameBody, typedName(form)), visit.ports.users, visit.caller);
    return donePath(visit, ACCOUNT_START, "named");
  },
  (visit, { user }, error, form) =>
    showAccount(visit, user, { typed: typedName(form), ...failedForm(visit, error, ["firstName", "lastName"]) }),
);

const typedName = (form: Form) => ({ firstName: form.get("firstName") ?? "", lastName: form.get("lastName") ?? "" });

export const revokePage = accountForm(async (visit, form, { user }) => {
  await goneAfter(revokeConsent(form.get("consent") ?? "", user.id, visit.ports.consents, visit.caller));
  return donePath(visit, ACCOUNT_START, "revoked");
});

/** POST /account/resend: another verification mail to the user's address. */
export const resendOwnPage = accountForm(
  async (visit, _form, { user }) => {
    if (user.emailVerified) return "/account"; // confirmed since the page was shown
    await resendVerification(user.email, visit.ports, visit.caller);
    return donePath(visit, ACCOUNT_START, "resent");
  },
  (visit, { user }, error) => showAccount(visit, user, failedForm(visit, error, [])),
);
