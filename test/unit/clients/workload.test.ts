import { describe, expect, test } from "vitest";
import {
  hasClaims,
  identityFault,
  isOpenIdentity,
  matchingSubjects,
  trustDomainOf,
  trustFaults,
  workloadDefaults,
} from "../../../src/clients/workload.ts";

describe("docs/protocol.md#workloads: subjects", () => {
  test.for([
    ["spiffe://d/a/b", ["spiffe://d/a/b", "spiffe://d/*", "spiffe://d/a/*"]],
    ["spiffe://d/a", ["spiffe://d/a", "spiffe://d/*"]],
    ["spiffe://d/a/*", ["spiffe://d/a/*"]],
    ["spiffe://d", ["spiffe://d"]],
    ["system:serviceaccount:agents:desk", ["system:serviceaccount:agents:desk"]],
    ["repo:acme/agents:ref:refs/heads/main", ["repo:acme/agents:ref:refs/heads/main"]],
  ] as const)("%s matches these identities", ([subject, subjects]) => {
    expect([...matchingSubjects(subject)].toSorted()).toEqual([...subjects].toSorted());
  });

  test.for([
    ["spiffe://acme.example/agents/desk", "spiffe://acme.example"],
    ["spiffe://acme.example", undefined],
    ["spiffe://acme.example/", undefined],
    ["spiffe://acme.example//desk", undefined],
    ["spiffe://acme.example/a/../b", undefined],
    ["spiffe://acme.example/a/./b", undefined],
    ["spiffe://acme.example/a%2Fb", undefined],
    ["spiffe://acme.example/a?b", undefined],
    ["spiffe://ACME.example/a", undefined],
    ["spiffe://user@acme.example/a", undefined],
    ["spiffe://acme.example:443/a", undefined],
    ["SPIFFE://acme.example/a", undefined],
    [`spiffe://acme.example/${"a".repeat(2_100)}`, undefined],
    ["https://acme.example/a", undefined],
  ] as const)("the trust domain of %s is %s", ([id, domain]) => {
    expect(trustDomainOf(id)).toBe(domain);
  });

  test.for([
    [{ env: "prod" }, {}, true],
    [{ env: "prod", ref: "main" }, { env: "prod" }, true],
    [{ env: "prod" }, { env: "prod", ref: "main" }, false],
    [{ env: "production" }, { env: "prod" }, false],
    [{ env: ["prod"] }, { env: "prod" }, false],
    [{ repository_id: 7 }, { repository_id: "7" }, false],
    [{}, { constructor: "x" }, false],
  ] as const)("a token with %j has the claims %j: %s", ([token, claims, has]) => {
    expect(hasClaims(token, claims)).toBe(has);
  });
});

describe("what an operator may configure", () => {
  const oidc = { ...workloadDefaults("oidc"), issuer: "https://ci.example", kind: "oidc" } as const;
  const spiffe = { ...workloadDefaults("spiffe"), issuer: "spiffe://acme.example", kind: "spiffe" } as const;

  test.for([
    [oidc, []],
    [{ ...oidc, jwksUri: "https://ci.example/keys" }, []],
    [{ ...oidc, issuer: "http://ci.example" }, ["issuer"]],
    [{ ...oidc, issuer: "http://localhost:8001" }, ["issuer"]],
    [{ ...oidc, issuer: "http://localhost:8001", allowPrivate: true }, []],
    [{ ...oidc, issuer: "http://10.0.0.1", allowPrivate: true }, ["issuer"]],
    [{ ...oidc, issuer: "https://ci.example?x" }, ["issuer"]],
    [{ ...oidc, issuer: "https://u:p@ci.example" }, ["issuer"]],
    [{ ...oidc, issuer: "kubernetes" }, ["issuer"]],
    [{ ...oidc, bundleEndpoint: "https://ci.example/bundle" }, ["bundleEndpoint"]],
    [{ ...spiffe, bundleEndpoint: "https://spire.example/bundle" }, []],
    [spiffe, ["bundleEndpoint"]],
    [{ ...spiffe, issuer: "spiffe://acme.example/a", bundleEndpoint: "https://s.example/b" }, ["issuer"]],
    [{ ...spiffe, bundleEndpoint: "https://s.example/b", jwksUri: "https://s.example/k" }, ["jwksUri"]],
  ] as const)("%j has faults in %j", ([trust, paths]) => {
    expect(trustFaults(trust).map(({ path }) => path)).toEqual(paths);
  });

  test.for([
    ["kubernetes", "https://cluster.example", "system:serviceaccount:a:b", true],
    ["kubernetes", "https://cluster.example", "system:serviceaccount:a/*", false],
    ["spiffe", "spiffe://d", "spiffe://d/a/*", true],
    ["spiffe", "spiffe://d", "spiffe://d/*", true],
    ["spiffe", "spiffe://d", "spiffe://d", false],
    ["spiffe", "spiffe://d", "spiffe://e/a", false],
    ["spiffe", "spiffe://d", "spiffe://d/a*", false],
    ["spiffe", "spiffe://d", "spiffe://d/*/b", false],
  ] as const)("%s %s may have the identity %s: %s", ([kind, issuer, subject, isGood]) => {
    expect(identityFault({ subject }, { kind, issuer }) === undefined).toBe(isGood);
  });
});

test.for([
  ["repo:acme/agents", {}, true],
  ["repo:acme/agents:pull_request", {}, true],
  ["repo:acme/agents:pull_request", { repository_id: "7" }, true],
  ["repo:acme/agents:ref:refs/heads/main", {}, false],
  ["repo:acme/agents:environment:production", {}, false],
  ["repo:acme/agents", { environment: "production" }, false],
  ["repo:acme/agents", { job_workflow_ref: "acme/agents/.github/workflows/deploy.yml@refs/heads/main" }, false],
  ["system:serviceaccount:agents:desk", {}, false],
  ["spiffe://acme.example/agents/*", {}, false],
] as const)("any branch could present %s with the claims %j: %s", ([subject, claims, isOpen]) => {
  expect(isOpenIdentity({ subject, claims })).toBe(isOpen);
});
