import { expect } from "vitest";
import { startServer, test } from "../support/server.ts";

const documentOf = async (server: { readonly get: (path: string) => Promise<{ readonly body: unknown }> }) =>
  // biome-ignore lint/suspicious/noExplicitAny: looked into member by member, and a wrong guess fails the test.
  (await server.get("/openapi.json")).body as any;

test("the session cookie of the description is the one that a sign-in sets over http", async ({ server }) => {
  const { components } = await documentOf(server);
  expect(components.securitySchemes.session).toMatchObject({ in: "cookie", name: "countersign" });
});

test("the session cookie of the description is the one that a sign-in sets over https", async () => {
  const server = await startServer({ env: { JWT_ISSUER: "https://id.example.test" } });
  try {
    const url = `http://localhost:${server.config.port}`;
    const [email, password] = ["ada@example.test", "correct horse battery staple"];
    const post = (path: string) =>
      fetch(url + path, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ email, password }),
      });
    expect((await post("/auth/register")).status).toBe(201);
    const [cookie = ""] = (await post("/auth/login")).headers.getSetCookie();
    const { components } = await (await fetch(`${url}/openapi.json`)).json();
    expect(components.securitySchemes.session.name).toBe(cookie.split("=")[0]);
  } finally {
    await server.close();
  }
});
