import type { Answer, ServerDriver, TestClient } from "../test/support/flow.ts";
import { api, type Check } from "./journal.ts";

const client = (clientId: string): TestClient => ({ clientId, secret: `${clientId}-secret`, redirectUri: "https://app.example.test/cb" });
export const [WEB, OTHER, WORKER] = [client("web"), client("other"), client("worker")] as const;

/** Whether a token is active, or is not. @param owner its client, for any other gets no other answer than `active: false` */
export const isActive =
  (owner: TestClient, token: string, active: boolean): Check =>
  async (front) => {
    const { status, body } = await front.introspect(owner, token);
    return status === 200 ? body.active === active : status >= 500 ? undefined : false;
  };

/** Whether a request is refused. */
export const isRefused =
  (request: (front: ServerDriver) => Promise<Answer>): Check =>
  async (front) => {
    const { status } = await request(front);
    return status >= 500 ? undefined : status >= 400;
  };

/** Whether a sign-in gets this status. */
export const signsIn =
  (email: string, password: string, expected: 200 | 401): Check =>
  async (front) => {
    const { status } = await api(front, "/auth/login", { email, password });
    return status >= 500 || status === 429 ? undefined : status === expected;
  };

/** One check after the other, until one fails. */
export const inOrder =
  (...checks: readonly Check[]): Check =>
  async (front) => {
    for (const check of checks) {
      const holds = await check(front);
      if (holds !== true) return holds;
    }
    return true;
  };
