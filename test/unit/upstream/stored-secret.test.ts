import { expect, test } from "vitest";
import { Refusal } from "../../../src/errors.ts";
import { type ConnectionChange, type ConnectionRequest, changedConnection, newConnection } from "../../../src/upstream/connection.ts";
import { A_SECRET_BOX } from "../../support/secret-box.ts";

function changed(request: ConnectionRequest, change: ConnectionChange) {
  const connection = { ...newConnection(request, "c", "r", A_SECRET_BOX), createdAt: 1, updatedAt: null };
  try {
    return changedConnection(connection, change, A_SECRET_BOX);
  } catch (error) {
    return error instanceof Refusal && error.detail.issues;
  }
}

test("an OpenID Connect connection keeps the scope openid, without which it gets no ID token", () => {
  const issues = [{ path: "scopes", message: "must have openid" }];
  expect(changed({ preset: "google", clientId: "us" }, { scopes: ["email"] })).toEqual(issues);
  expect(changed({ preset: "google", clientId: "us" }, { scopes: ["openid"] })).toMatchObject({ scopes: ["openid"] });
  expect(changed({ preset: "github", clientId: "us" }, { scopes: ["read:user"] })).toMatchObject({ scopes: ["read:user"] });
});
