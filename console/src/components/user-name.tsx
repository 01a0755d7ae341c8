import { useQuery } from "@tanstack/react-query";
import { api, trpc } from "../api/client.ts";

/** Milliseconds for which an address is kept: it is looked up once, however many records name the user. */
const KEPT = 300_000;
/** Users that one call looks up at most. */
const MANY = 200;

let waiting: { readonly ids: Set<string>; readonly found: Promise<ReadonlyMap<string, string>> } | undefined;

/** Looks up what is asked for at once, as by the rows of a list, in one call. */
async function addressOf(id: string): Promise<string | null> {
  if (waiting === undefined || waiting.ids.size === MANY) {
    const ids = new Set<string>();
    const found = new Promise((resolve) => setTimeout(resolve)).then(async () => {
      if (waiting?.ids === ids) waiting = undefined;
      const { users } = await api.operator.users.addresses.query({ ids: [...ids] });
      return new Map(users.map((user) => [user.id, user.email]));
    });
    waiting = { ids, found };
  }
  waiting.ids.add(id);
  return (await waiting.found).get(id) ?? null;
}

/** The address of a user, by id; the id itself while it is looked up, and where there is no such user any more. */
export function UserName({ id }: { readonly id: string }) {
  const queryKey = [...trpc.operator.users.addresses.queryKey(), id];
  const { data } = useQuery({ queryKey, queryFn: () => addressOf(id), staleTime: KEPT, retry: false });
  return (
    <bdi className="foreign" title={id}>
      {data ?? id}
    </bdi>
  );
}
