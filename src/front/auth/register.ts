import type { User } from "../../accounts/ports.ts";
import { register } from "../../accounts/registration.ts";
import { milliseconds } from "../../clock.ts";
import { sendJson } from "../http/headers.ts";
import type { Handler } from "../http/routes.ts";
import { RegisterBody } from "../schemas/accounts.ts";
import type { UserPorts } from "../user-ports.ts";
import { callerOf } from "../user-ports.ts";
import { accountBody } from "./body.ts";

/** The user as registration returns it (specification §2.1); times in milliseconds. */
const userView = ({ id, email, emailVerified, realmId, createdAt, updatedAt }: User) => ({
  id,
  email,
  emailVerified,
  realmId,
  createdAt: milliseconds(createdAt),
  updatedAt: updatedAt === null ? null : milliseconds(updatedAt),
});

/** POST /auth/register (specification §4.2). */
export const registerRoute =
  (ports: UserPorts): Handler =>
  async (ctx) => {
    const signUp = await accountBody(ctx, RegisterBody);
    sendJson(ctx, userView(await register(signUp, ports, callerOf(ctx))), 201);
  };
