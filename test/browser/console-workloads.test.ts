import { afterAll, expect, test } from "vitest";
import { operatorAt } from "../support/admin.ts";
import { ASSERTION_TYPE } from "../support/assertions.ts";
import { openScreen, refusing, startConsole } from "../support/console.ts";
import { gitHub, kubernetes, REPOSITORY, SERVICE_ACCOUNT } from "../support/workloads.ts";

// Agents without a secret in the console: a platform is trusted, a workload on it becomes a client, and gets a token.

const [cluster, actions] = await Promise.all([kubernetes(), gitHub()]);
afterAll(() => Promise.all([cluster.close(), actions.close()]));
const { server, page } = await startConsole();
const operator = await operatorAt(server.url);

const button = (name: string) => page.getByRole("button", { name, exact: true });
const dialog = page.getByRole("dialog");
const field = (name: string) => page.getByRole("textbox", { name, exact: true });

const tokenFor = (assertion: string) =>
  fetch(`${server.url}/oauth/token`, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "client_credentials",
      client_assertion_type: ASSERTION_TYPE,
      client_assertion: assertion,
      scope: "notes:read",
    }),
  });

test("a cluster is trusted, and a pod of it gets a token as the service that was made for it", async () => {
  await openScreen(page, "/workloads");
  await page.getByText("No platform is trusted yet.").waitFor();
  await button("Trust a platform").click();
  await dialog.getByLabel("Issuer").fill(cluster.issuer);
  await dialog.getByLabel("Keys may be at a private address").click();
  await dialog.getByRole("button", { name: "Trust it" }).click();
  await page.getByText(`${cluster.issuer} is trusted now.`).waitFor();
  await page.getByRole("link", { name: cluster.issuer }).waitFor();

  await openScreen(page, "/clients/new?kind=service");
  await field("Name").fill("Desk");
  await field("Scopes").fill("notes:read");
  await page.getByRole("switch", { name: "Without a secret: its platform vouches for it" }).click();
  await button("Create").click();
  await page.getByText("This client has no secret. Say next which workload it is.").waitFor();
  await page.getByRole("link", { name: "Add a workload" }).click();
  expect(await page.getByLabel("Platform").inputValue()).toBe(cluster.issuer);
  await field("Subject").fill(SERVICE_ACCOUNT);
  await button("Add a workload").click();
  await page.getByRole("table").getByText(SERVICE_ACCOUNT).waitFor();
  expect((await tokenFor(cluster.token(server.url))).status).toBe(200);

  await button(`Remove ${SERVICE_ACCOUNT}`).click();
  await dialog.getByRole("button", { name: "Remove" }).click();
  await page.getByText("No workload yet.").waitFor();
  expect((await tokenFor(cluster.token(server.url))).status).toBe(401);
});

test("a pasted token is explained: which client it stands for, or the rule that refuses it", async () => {
  const issuer = actions.issuer;
  const client = { name: "Deployer", grantTypes: ["client_credentials" as const], tokenEndpointAuthMethod: "workload_jwt" as const };
  const { clientId } = await operator.clients.create.mutate(client);
  await operator.workloadIssuers.create.mutate({ issuer, kind: "oidc", allowPrivate: true });
  const subject = `repo:${REPOSITORY.repository}:environment:${REPOSITORY.environment}`;
  await operator.workloadIdentities.add.mutate({ clientId, issuer, subject, claims: { repository_id: REPOSITORY.repository_id } });
  await openScreen(page, "/workloads");
  await field("A token of a platform").fill(actions.token(server.url));
  await button("Test it").click();
  await page.getByText(`It is the client ${clientId}.`).waitFor();
  await field("A token of a platform").fill(actions.token(server.url, { repository_id: "another" }));
  await button("Test it").click();
  await page.getByText("It would be refused").waitFor();
  await page.locator("tr.verdict-refused").waitFor();
});

test("claims and settings are saved, and what another operator has set is shown before it is replaced", async () => {
  const issuer = "https://ci.example.test";
  await operator.workloadIssuers.create.mutate({ issuer, kind: "oidc" });
  const client = { name: "Claims", grantTypes: ["client_credentials" as const], tokenEndpointAuthMethod: "workload_jwt" as const };
  const { id, clientId } = await operator.clients.create.mutate(client);
  await page.goto(`${server.url}/console/clients/${id}?tab=workloads`); // reads the new platform, too
  await page.getByLabel("Platform").selectOption(issuer);
  await field("Subject").fill("job:7");
  await page.getByLabel("Claims that its token must have").fill("branch=main\nproject = a=b ");
  await button("Add a workload").click();
  await page.getByRole("table").getByText("branch=main").waitFor();
  const { identities } = await operator.workloadIdentities.list.query({ clientId });
  const warning = page.getByText("Any branch or pull request of this repository could present it");
  expect(await warning.count()).toBe(0);
  expect(identities).toMatchObject([{ issuer, subject: "job:7", claims: { branch: "main", project: "a=b" } }]);

  await page.getByLabel("Claims that its token must have").fill("branch=main\nbranch=next");
  await page.getByText("A claim stands here twice.").waitFor();
  expect(await button("Add a workload").isDisabled()).toBe(true);
  await page.getByLabel("Claims that its token must have").fill("");
  await field("Subject").fill("repo:acme/desk:pull_request");
  await button("Add a workload").click();
  await warning.waitFor();

  await openScreen(page, `/workloads/view?uri=${encodeURIComponent(issuer)}`);
  await page.getByRole("link", { name: clientId }).first().waitFor();
  await page.getByLabel("Longest life of a token, in seconds").fill("600");
  await operator.workloadIssuers.update.mutate({ issuer, maxLifetime: 900, jwksUri: "https://ci.example.test/keys" });
  await button("Save settings").click();
  await page.getByText("It is now: 900").waitFor();
  await button("Save settings").click();
  await page.getByText("Saved.", { exact: true }).waitFor();
  const saved = { maxLifetime: 600, jwksUri: "https://ci.example.test/keys" };
  expect(await operator.workloadIssuers.get.query({ issuer })).toMatchObject(saved);

  await button("Trust it no longer").click();
  await dialog.getByRole("button", { name: "Trust it no longer" }).click();
  await page.getByRole("heading", { level: 1, name: "Workload platforms" }).waitFor();
  expect((await operator.workloadIdentities.list.query({ clientId })).identities).toEqual([]);
});

test("a client's form for workloads says why platforms cannot be read, and not that there are none", async () => {
  const client = { name: "Unread", grantTypes: ["client_credentials" as const], tokenEndpointAuthMethod: "workload_jwt" as const };
  const { id } = await operator.clients.create.mutate(client);
  await page.route("**/trpc/*workloadIssuers.list*", refusing("operator.workloadIssuers.list"));
  await page.goto(`${server.url}/console/clients/${id}?tab=workloads`);
  await page.getByRole("alert").getByText("Not now.").waitFor();
  expect(await page.getByText("No platform is trusted yet").count()).toBe(0);
  await page.unrouteAll();
  await button("Try again").click();
  await page.getByLabel("Platform").waitFor();
});

test("a platform that is no issuer is refused, and its dialog stays", async () => {
  await openScreen(page, "/workloads");
  await button("Trust a platform").click();
  await dialog.getByLabel("Kind").selectOption("SPIFFE");
  await dialog.getByLabel("Issuer").fill("https://not-a-trust-domain.example.test");
  await dialog.getByRole("button", { name: "Trust it" }).click();
  await page.getByRole("alert").getByText("issuer").first().waitFor();
  expect(await dialog.getByLabel("Issuer").inputValue()).toBe("https://not-a-trust-domain.example.test");
});
