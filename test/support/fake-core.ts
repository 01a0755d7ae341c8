import { Refusal } from "../../src/errors.ts";
import { localTokenCore, type TokenCore, type TokenCoreImplementation } from "../../src/grpc/local.ts";

/** A token core with the methods that a test needs; any other one throws. */
export function coreWith(methods: Partial<TokenCoreImplementation>): TokenCore {
  const absent = async (): Promise<never> => {
    throw new Error("this test's core has no such method");
  };
  const implementation: TokenCoreImplementation = {
    token: absent,
    validateAuthorization: absent,
    issueCode: absent,
    pushAuthorization: absent,
    openPushedRequest: absent,
    authorizeDevice: absent,
    findDeviceRequest: absent,
    denyDeviceRequest: absent,
    loginTokens: absent,
    introspect: absent,
    verifyApiKey: absent,
    revoke: absent,
    verifyAccessToken: absent,
    publicKeys: absent,
    resolveClient: absent,
    explain: absent,
    validateLogout: absent,
    ...methods,
  };
  return localTokenCore(implementation);
}

/** A core that is unreachable. */
export const absentCore = (): TokenCore => {
  const unreachable = async (): Promise<never> => {
    throw new Refusal("temporarily_unavailable", "core_unreachable", { retryAfter: 5 });
  };
  return coreWith({
    token: unreachable,
    introspect: unreachable,
    revoke: unreachable,
    verifyAccessToken: unreachable,
    publicKeys: unreachable,
  });
};
