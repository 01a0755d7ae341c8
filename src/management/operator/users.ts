import { z } from "zod";
import { invite } from "../../accounts/invitations.ts";
import { accountClosedMail } from "../../accounts/mails.ts";
import { assertGoodPassword } from "../../accounts/password-rules.ts";
import { ROLES } from "../../accounts/ports.ts";
import { emailTaken } from "../../accounts/registration.ts";
import { roleOfSignUp } from "../../accounts/sign-up-policy.ts";
import { realmUri } from "../../audit.ts";
import { Refusal } from "../../errors.ts";
import { LANGUAGES } from "../../language.ts";
import { newId } from "../../random.ts";
import { found } from "../clients.ts";
import { UserImport } from "../import-users.ts";
import { paging, RecordId, RegistrationScopes, search } from "../inputs.ts";
import { operatorProcedure, router } from "../trpc.ts";
import { pageView, userView } from "../views.ts";

const ById = z.strictObject({ id: RecordId });
const Filter = z.strictObject({ ...paging, role: z.enum(ROLES).optional(), enabled: z.boolean().optional(), search });

const email = z.email({ error: "must be an e-mail address" }).max(254);
const role = z.enum(ROLES).optional();
const language = z.enum(LANGUAGES).default("en");

/** Hours for which an invitation works: a week unless said, 30 days at most. */
const Invitation = z.strictObject({ email, role, language, hours: z.int().min(1).max(720).default(168) });

const NewUser = z.strictObject({ email, role, password: z.string().max(1024) });

/** Operators cannot lock themselves out, for they may be the last. */
function assertNotOneself(callerId: string, id: string): void {
  if (callerId === id) throw new Refusal("conflict", "operator_changes_own_account", { description: "This is your own account." });
}

export const operatorUsersRouter = router({
  list: operatorProcedure
    .input(Filter.prefault({}))
    .query(async ({ ctx, input: { limit, cursor, ...filter } }) =>
      pageView("users", await ctx.ports.users.list(filter, limit, cursor), userView),
    ),

  get: operatorProcedure.input(ById).query(async ({ ctx, input }) => userView(found(await ctx.ports.users.byId(input.id)))),

  /** Sends a link by which the user of an address opens an account. Its role is that of users who sign up, unless given. */
  invite: operatorProcedure.input(Invitation).mutation(async ({ ctx, input }) => {
    const { signUpPolicy } = ctx.ports;
    if (signUpPolicy.mode === "closed")
      throw new Refusal("forbidden", "sign_up_closed", { description: "SIGN_UP is closed: operators create all accounts." });
    const invitation = { ...input, role: input.role ?? roleOfSignUp(signUpPolicy) };
    await invite(invitation, ctx.ports, ctx.audit("user.invited", { reason: `role_${invitation.role}` }));
    return { email: input.email, role: invitation.role, hours: input.hours };
  }),

  /** Opens an account whose address counts as verified. */
  create: operatorProcedure.input(NewUser).mutation(async ({ ctx, input: { email: address, password, ...input } }) => {
    const { invitations, passwords, signUpPolicy, clock, randomBytes } = ctx.ports;
    await assertGoodPassword(password, address);
    const id = newId(clock, randomBytes);
    const user = {
      id,
      email: address,
      role: input.role ?? roleOfSignUp(signUpPolicy),
      passwordHash: await passwords.hash(password, ctx.address),
    };
    const created = await invitations.open(user, ctx.audit("user.registered", { userId: id, reason: "by_operator" }));
    if (created === undefined) throw emailTaken();
    return userView(created);
  }),

  /** Takes over users of another server with their password hashes: all of them, or none. */
  import: operatorProcedure.input(UserImport).mutation(async ({ ctx, input }) => {
    const { importedUsers, signUpPolicy, clock, randomBytes } = ctx.ports;
    const users = input.users.map((user) => ({ ...user, id: newId(clock, randomBytes), role: user.role ?? roleOfSignUp(signUpPolicy) }));
    const audits = users.map(({ id }) => ctx.audit("user.registered", { userId: id, reason: "imported" }));
    const taken = await importedUsers.import(users, audits);
    if (taken.length === 0) return { imported: users.length };
    const issues = taken.map((index) => ({ path: `users.${index}.email`, message: "has an account already, or is named twice" }));
    throw new Refusal("conflict", "email_taken", { description: "Nothing was imported.", issues });
  }),

  /** Deletes an account with everything that belongs to it, and notifies its user. */
  delete: operatorProcedure.input(z.strictObject({ id: RecordId, language })).mutation(async ({ ctx, input: { id, language: of } }) => {
    assertNotOneself(ctx.caller.userId, id);
    const audit = ctx.audit("user.deleted", { userId: id, reason: "by_operator" });
    const outcome = await ctx.ports.closing.close(id, accountClosedMail(of, ctx.ports.issuer, true), audit);
    found(outcome === "gone" ? undefined : outcome);
  }),

  disable: operatorProcedure.input(ById).mutation(async ({ ctx, input: { id } }) => {
    assertNotOneself(ctx.caller.userId, id);
    const audit = ctx.audit("user.changed", { userId: id, reason: "disabled" });
    return userView(found(await ctx.ports.users.setEnabled(id, false, audit)));
  }),

  enable: operatorProcedure.input(ById).mutation(async ({ ctx, input: { id } }) => {
    const audit = ctx.audit("user.changed", { userId: id, reason: "enabled" });
    return userView(found(await ctx.ports.users.setEnabled(id, true, audit)));
  }),

  setRole: operatorProcedure.input(z.strictObject({ id: RecordId, role: z.enum(ROLES) })).mutation(async ({ ctx, input: { id, role } }) => {
    assertNotOneself(ctx.caller.userId, id);
    const audit = ctx.audit("user.changed", { userId: id, reason: `role_${role}` });
    return userView(found(await ctx.ports.users.setRole(id, role, audit)));
  }),
});

/** Realms and the scopes that open registration may give in them; null: DEFAULT_DYNAMIC_REGISTRATION_SCOPES. */
export const operatorRealmsRouter = router({
  list: operatorProcedure.query(async ({ ctx }) => ({ realms: await ctx.ports.managedRealms.all() })),

  update: operatorProcedure
    .input(z.strictObject({ id: RecordId, dynamicRegistrationScopes: RegistrationScopes }))
    .mutation(async ({ ctx, input: { id, dynamicRegistrationScopes: scopes } }) => {
      const about = { resources: [realmUri(id)], ...(scopes !== null && { scope: scopes.join(" ") }) };
      return found(await ctx.ports.managedRealms.setRegistrationScopes(id, scopes, ctx.audit("realm.changed", about)));
    }),
});
