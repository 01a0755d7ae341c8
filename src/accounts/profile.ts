import type { User, Users } from "./ports.ts";
import { type Caller, whence } from "./sessions.ts";

export interface NameGiven {
  readonly firstName?: string | undefined;
  readonly lastName?: string | undefined;
}

/** Changes what a person is called; an empty name is none. Nothing is recorded when nothing changes. */
export async function rename(user: User, name: NameGiven, users: Users, caller: Caller): Promise<void> {
  await users.rename(
    user.id,
    { firstName: name.firstName?.trim() || null, lastName: name.lastName?.trim() || null },
    {
      event: "user.changed",
      outcome: "success",
      reason: "name",
      actor: { type: "user", id: user.id },
      userId: user.id,
      ...whence(caller),
    },
  );
}
