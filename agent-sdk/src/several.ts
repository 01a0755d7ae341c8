import type { Access } from "./access.ts";
import { AgentError } from "./errors.ts";
import { addressOf } from "./http.ts";
import { covers } from "./urls.ts";

/**
 * Requests to several resources with a token for all of them: each goes as one to the closest resource around it, so that a token is bound to
 * the key where that resource takes proofs. `token()` is as the first resource takes it.
 * @param accessTo the access to one of them
 */
export function accessToSeveral([head, ...rest]: readonly [string, ...string[]], accessTo: (resource: string) => Access): Access {
  const to = (resource: string) => ({ resource, access: accessTo(resource) });
  const first = to(head);
  const closest = [first, ...rest.map(to)].sort((one, other) => other.resource.length - one.resource.length);
  return {
    async fetch(input, init) {
      const url = input instanceof Request ? input.url : String(input);
      if (!URL.canParse(url)) return first.access.fetch(input, init); // which refuses it
      const found = closest.find(({ resource }) => URL.canParse(resource) && covers(resource, url));
      if (found !== undefined) return found.access.fetch(input, init);
      throw new AgentError("wrong_resource", `${addressOf(url)} is not within ${[head, ...rest].map(addressOf).join(" or ")}`);
    },
    token: () => first.access.token(),
  };
}
