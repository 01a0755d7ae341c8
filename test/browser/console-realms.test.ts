import { expect, test } from "vitest";
import { operatorAt } from "../support/admin.ts";
import { openScreen, startConsole } from "../support/console.ts";

// Realms in the console: users get into one, move to another, and an empty one goes.

const { server, page } = await startConsole();
const operator = await operatorAt(server.url);

const button = (name: string) => page.getByRole("button", { name, exact: true });
const dialog = page.getByRole("dialog");
const aRealm = async (name: string) => (await operator.realms.create.mutate({ name })).id;
const aUser = (email: string) => operator.users.create.mutate({ email, password: "Quiet-lantern-4417-harbour" });

test("a user is invited into the realm that is chosen, and the list of invitations names it", async () => {
  const realmId = await aRealm("guests");
  await openScreen(page, "/users");
  await button("Invite a user").click();
  await dialog.getByLabel("E-mail address").fill("guest@example.test");
  await dialog.getByLabel("Realm").selectOption("guests");
  await button("Send the invitation").click();
  await page.getByText("An invitation is on its way to guest@example.test.").waitFor();
  await page.getByRole("region", { name: "Invitations not accepted yet" }).getByText("guests").waitFor();
  const { invitations } = await operator.invitations.list.query({ search: "guest@example.test" });
  expect(invitations).toMatchObject([{ realmId }]);
});

test("an invitation is for the default realm where the form shows that, though an earlier one was for another", async () => {
  const email = "again@example.test";
  await operator.users.invite.mutate({ email, realmId: await aRealm("earlier") });
  await page.goto(`${server.url}/console/users`); // the form keeps what was chosen last
  await button("Invite a user").click();
  await dialog.getByLabel("E-mail address").fill(email);
  await expect.poll(() => dialog.getByLabel("Realm").locator("option:checked").textContent()).toBe("default");
  await button("Send the invitation").click();
  await page.getByText(`An invitation is on its way to ${email}.`).waitFor();
  const { invitations } = await operator.invitations.list.query({ search: email });
  const realm = await operator.realms.get.query({ id: invitations[0]?.realmId ?? "" });
  expect(realm.name).toBe("default");
});

test("a user is moved once that was confirmed", async () => {
  const realmId = await aRealm("partners");
  const { id, email, realmId: before } = await aUser("mover@example.test");
  await page.goto(`${server.url}/console/users/${id}`); // reads the new realm, too
  const realm = page.getByLabel("Realm", { exact: true });
  await realm.selectOption("partners");
  await dialog.getByRole("button", { name: "Cancel" }).click();
  expect((await operator.users.get.query({ id })).realmId).toBe(before);
  await realm.selectOption("partners");
  await dialog.getByText(`Move ${email} to the realm partners`).waitFor();
  await dialog.getByRole("button", { name: "Move" }).click();
  await page.getByText(`${email} is now in the realm partners.`).waitFor();
  expect((await operator.users.get.query({ id })).realmId).toBe(realmId);
  expect(await realm.locator("option:checked").textContent()).toBe("partners");
});

test("a realm is renamed, stays while a user is in it, and is removed when it is empty", async () => {
  const id = await aRealm("before");
  const user = await aUser("last@example.test");
  await operator.users.setRealm.mutate({ id: user.id, realmId: id });
  await openScreen(page, `/realms/${id}`);
  await page.getByLabel("Name of this realm").fill("after");
  await button("Rename").click();
  await page.getByRole("heading", { level: 1, name: "after" }).waitFor();
  const remove = async () => {
    await button("Remove the realm").click();
    await dialog.getByRole("button", { name: "Remove the realm" }).click();
  };
  await remove();
  await page.getByRole("alert").getByText("The realm is not empty: it has 1 user.").waitFor();
  await operator.users.setRealm.mutate({ id: user.id, realmId: user.realmId });
  await remove();
  await page.getByRole("heading", { level: 1, name: "Realms" }).waitFor();
  await expect(operator.realms.get.query({ id })).rejects.toMatchObject({ data: { httpStatus: 404 } });
});

test("the default realm can be neither renamed nor removed", async () => {
  const { realms } = await operator.realms.list.query({ search: "default" });
  await openScreen(page, `/realms/${realms[0]?.id}`);
  await page.getByRole("heading", { level: 1, name: "default" }).waitFor();
  await page.getByLabel("Required sign-in").waitFor();
  expect(await page.getByLabel("Name of this realm").count()).toBe(0);
  expect(await button("Remove the realm").count()).toBe(0);
});
