import { expect } from "vitest";
import type { NewDelegation } from "../../src/core/ports.ts";
import type { TokenReference } from "../../src/core/stored-grants.ts";
import { delegationJti } from "../../src/core/tokens/access-token.ts";
import { delegations } from "../../src/store/delegations.ts";
import type { Sql } from "../../src/store/sql.ts";
import { tokenStates } from "../../src/store/token-states.ts";
import { anAudit, anId } from "./accounts.ts";
import { aClient, anOpenFamily, aScene, type Scene } from "./grants.ts";

/** Grants and the delegations of agents below them, in the database of a test. */
export function delegating(sql: () => Sql) {
  /** A grant and the access token of its client. */
  async function aRoot() {
    const scene = await aScene(sql());
    const { grant } = await anOpenFamily(sql(), scene);
    const agent = (await aClient(sql(), { isAgent: true })).clientId;
    const token: TokenReference = { jti: `root.${anId()}`, clientId: scene.clientId, userId: scene.userId, grantId: grant.id };
    return { scene, grantId: grant.id, agent, token };
  }
  const below = (
    scene: Scene,
    grantId: string,
    actor: string,
    parent: TokenReference,
    more: Partial<NewDelegation> = {},
  ): NewDelegation => {
    const id = more.id ?? anId();
    return {
      id,
      kind: "access_token",
      jti: delegationJti(id),
      parent,
      grantId,
      userId: scene.userId,
      actor,
      scopes: ["crm:read"],
      audience: ["https://crm.example.test/mcp"],
      expiresAt: Math.floor(Date.now() / 1000) + 600,
      ...more,
    };
  };
  const tokenOf = ({ id, jti, actor, userId }: NewDelegation): TokenReference => ({ jti, clientId: actor, userId, delegationId: id });
  let stored: ReturnType<typeof delegations> | undefined;
  /** Through one store, so that concurrent calls share one statement, as within one process. */
  const record = (delegation: NewDelegation) => {
    stored ??= delegations(sql());
    return stored.record(delegation, anAudit("token.issued", { jti: delegation.jti }));
  };
  const lives = async (delegation: NewDelegation) => {
    const { revoked, grantLives, clientEnabled } = await tokenStates(sql()).of(tokenOf(delegation));
    return !revoked && grantLives && clientEnabled;
  };

  /** Three delegations, each below the previous one. */
  async function aChain() {
    const { scene, grantId, agent, token } = await aRoot();
    const first = below(scene, grantId, agent, token);
    const second = below(scene, grantId, agent, tokenOf(first));
    const third = below(scene, grantId, agent, tokenOf(second));
    for (const one of [first, second, third]) expect(await record(one)).toBe(true);
    return { scene, grantId, agent, token, first, second, third };
  }

  return { aRoot, aChain, below, tokenOf, record, lives };
}
