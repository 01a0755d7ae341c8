import { z } from "zod";
import { lastOperator } from "../../accounts/account.ts";
import { mailOf } from "../../accounts/mails.ts";
import { sendReset } from "../../accounts/password-change.ts";
import { assertGoodPassword } from "../../accounts/password-rules.ts";
import { ROLES } from "../../accounts/ports.ts";
import { emailTaken, INVITATION_SORTS, invite } from "../../accounts/registration.ts";
import { roleOfSignUp } from "../../accounts/sign-up-policy.ts";
import { inMilliseconds } from "../../clock.ts";
import { Refusal } from "../../errors.ts";
import { newId } from "../../random.ts";
import { isOneself, mayInvite } from "../acts.ts";
import { found } from "../clients.ts";
import { ById, type ImportedUser, inParts, language, listing, RecordId, Reference, search, UserImport, userFilter } from "../inputs.ts";
import { type Bearer, type ManagementPorts, USER_SORTS } from "../ports.ts";
import { assertFreshProof, operatorProcedure, provenOperatorProcedure, router } from "../trpc.ts";
import { pageView, userView } from "../views.ts";

const Filter = z.strictObject({ ...listing(USER_SORTS), ...userFilter });

const email = z.email({ error: "must be an e-mail address in ASCII" }).max(254);
const role = z.enum(ROLES).optional();
const realmId = Reference.optional();

/** Hours for which an invitation works: a week unless said, 30 days at most. */
const Invitation = z.strictObject({ email, role, realmId, language, hours: z.int().min(1).max(720).default(168) });

const NewUser = z.strictObject({ email, role, realmId, password: z.string().max(1024) });

/** @throws {Refusal} conflict */
function assertNotOneself(caller: Bearer, id: string): void {
  if (isOneself(caller, id)) throw new Refusal("conflict", "operator_changes_own_account", { description: "This is your own account." });
}

const NOTHING = "Nothing was imported.";

/** The ids of the realms that users name. @throws {Refusal} invalid_request, with an issue for each user of an unknown realm */
async function realmsOf(users: readonly ImportedUser[], { managedRealms }: Pick<ManagementPorts, "managedRealms">) {
  const realms = await managedRealms.named([...new Set(users.flatMap(({ realm = [] }) => realm))]);
  const unknown = users.flatMap(({ realm }, index) => (realm === undefined || realms.has(realm) ? [] : [`users.${index}.realm`]));
  if (unknown.length === 0) return realms;
  const issues = unknown.map((path) => ({ path, message: "names no realm" }));
  throw new Refusal("invalid_request", "realm_unknown", { description: NOTHING, issues });
}

export const operatorUsersRouter = router({
  list: operatorProcedure
    .input(Filter.prefault({}))
    .query(async ({ ctx, input }) => pageView("users", await ctx.ports.users.list(...inParts(input)), userView)),

  get: operatorProcedure.input(ById).query(async ({ ctx, input }) => userView(found(await ctx.ports.users.byId(input.id)))),

  /** The addresses of the users that a list names, in one call. Unknown ids are left out. */
  addresses: operatorProcedure
    .input(z.strictObject({ ids: z.array(RecordId).max(200) }))
    .query(async ({ ctx, input: { ids } }) => ({ users: await ctx.ports.users.addresses(ids) })),

  /**
   * Sends a link by which the user of an address opens an account. Its role is that of users who sign up, unless given; its realm that of
   * the open invitation to the address, which this one replaces, else the default one.
   */
  invite: operatorProcedure.input(Invitation).mutation(async ({ ctx, input }) => {
    const { signUpPolicy } = ctx.ports;
    if (input.role === "operator") await assertFreshProof(ctx.caller, ctx.ports);
    if (!mayInvite(signUpPolicy))
      throw new Refusal("forbidden", "sign_up_closed", { description: "SIGN_UP is closed: operators create all accounts." });
    const invitation = { ...input, inviterId: ctx.caller.userId, role: input.role ?? roleOfSignUp(signUpPolicy) };
    const realmId = await invite(invitation, ctx.ports, ctx.audit("user.invited", { reason: `role_${invitation.role}` }));
    return { email: input.email, role: invitation.role, realmId, hours: input.hours };
  }),

  /** Opens an account whose address counts as verified, in the default realm unless another one is named. */
  create: operatorProcedure.input(NewUser).mutation(async ({ ctx, input: { email: address, password, ...input } }) => {
    const { invitations, passwords, signUpPolicy, clock, randomBytes } = ctx.ports;
    if (input.role === "operator") await assertFreshProof(ctx.caller, ctx.ports);
    await assertGoodPassword(password, address);
    const id = newId(clock, randomBytes);
    const user = {
      id,
      email: address,
      role: input.role ?? roleOfSignUp(signUpPolicy),
      realmId: input.realmId,
      passwordHash: await passwords.hash(password, ctx.address),
    };
    const created = await invitations.open(user, ctx.audit("user.registered", { userId: id, reason: "by_operator" }));
    if (created === undefined) throw emailTaken();
    return userView(created);
  }),

  /** Takes over users of another server with their password hashes: all of them, or none. */
  import: provenOperatorProcedure.input(UserImport).mutation(async ({ ctx, input }) => {
    const { importedUsers, signUpPolicy, clock, randomBytes } = ctx.ports;
    const realms = await realmsOf(input.users, ctx.ports);
    const users = input.users.map(({ realm = "", ...user }) => ({
      ...user,
      realmId: realms.get(realm),
      id: user.id ?? newId(clock, randomBytes),
      role: user.role ?? roleOfSignUp(signUpPolicy),
    }));
    const audits = users.map(({ id }) => ctx.audit("user.registered", { userId: id, reason: "imported" }));
    const taken = await importedUsers.import(users, audits, input.dryRun);
    if (taken.length === 0) return { imported: input.dryRun ? 0 : users.length };
    const issuesOf = (members: typeof taken, message: string) =>
      members.map(({ index, member }) => ({ path: `users.${index}.${member}`, message }));
    const reserved = issuesOf(
      taken.filter(({ isReserved }) => isReserved),
      "belongs to a client, or to a user who was deleted within the last day",
    );
    // Not a conflict: `--skip-existing` would leave these users out.
    if (reserved.length > 0) throw new Refusal("invalid_request", "id_reserved", { description: NOTHING, issues: reserved });
    throw new Refusal("conflict", "email_taken", {
      description: NOTHING,
      issues: issuesOf(taken, "has an account already, or is named twice"),
    });
  }),

  /** Deletes an account with everything that belongs to it, and notifies its user. */
  delete: provenOperatorProcedure
    .input(z.strictObject({ id: RecordId, language }))
    .mutation(async ({ ctx, input: { id, language: of } }) => {
      assertNotOneself(ctx.caller, id);
      const audit = ctx.audit("user.deleted", { userId: id, reason: "by_operator" });
      const message = mailOf("accountRemoved", ctx.ports, found(await ctx.ports.users.byId(id)), { language: of });
      const outcome = await ctx.ports.closing.close(id, undefined, message, audit);
      if (outcome === "last_operator") throw lastOperator();
      found(outcome === "gone" ? undefined : outcome);
    }),

  disable: operatorProcedure.input(ById).mutation(async ({ ctx, input: { id } }) => {
    assertNotOneself(ctx.caller, id);
    const audit = ctx.audit("user.changed", { userId: id, reason: "disabled" });
    return userView(found(await ctx.ports.users.setEnabled(id, false, audit)));
  }),

  enable: operatorProcedure.input(ById).mutation(async ({ ctx, input: { id } }) => {
    const audit = ctx.audit("user.changed", { userId: id, reason: "enabled" });
    return userView(found(await ctx.ports.users.setEnabled(id, true, audit)));
  }),

  /** Sends the user a link by which they choose a new password. Their password works until then. */
  sendReset: operatorProcedure.input(z.strictObject({ id: RecordId, language })).mutation(async ({ ctx, input: { id, language: of } }) => {
    const user = found(await ctx.ports.users.byId(id));
    if (!user.enabled) throw new Refusal("conflict", "user_disabled", { description: "The user is disabled. Enable the user first." });
    await sendReset(user, of, ctx.ports, ctx.audit("password.reset_requested", { reason: "by_operator" }));
    return { id, email: user.email };
  }),

  setRole: provenOperatorProcedure
    .input(z.strictObject({ id: RecordId, role: z.enum(ROLES) }))
    .mutation(async ({ ctx, input: { id, role } }) => {
      assertNotOneself(ctx.caller, id);
      const audit = ctx.audit("user.changed", { userId: id, reason: `role_${role}` });
      return userView(found(await ctx.ports.users.setRole(id, role, audit)));
    }),

  /** Moves a user to another realm. Sessions and access stay, and what the realm demands counts from the next request on. */
  setRealm: operatorProcedure
    .input(z.strictObject({ id: RecordId, realmId: Reference }))
    .mutation(async ({ ctx, input: { id, realmId } }) => {
      const audit = ctx.audit("user.changed", { userId: id, reason: "realm" });
      return userView(found(await ctx.ports.users.setRealm(id, realmId, audit)));
    }),
});

/** Invitations that were sent by `users.invite` and not yet accepted. */
export const operatorInvitationsRouter = router({
  list: operatorProcedure.input(z.strictObject({ ...listing(INVITATION_SORTS), search }).prefault({})).query(async ({ ctx, input }) => {
    const [filter, part] = inParts(input);
    const page = await ctx.ports.sentInvitations.list(filter.search, part);
    return pageView("invitations", page, (invitation) => inMilliseconds(invitation, "createdAt", "expiresAt"));
  }),

  withdraw: operatorProcedure.input(ById).mutation(async ({ ctx, input: { id } }) => {
    const audit = ctx.audit("user.invited", { reason: "withdrawn" });
    return { id, email: found(await ctx.ports.sentInvitations.withdraw(id, audit)) };
  }),
});
