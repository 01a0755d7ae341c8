import { notifications } from "@mantine/notifications";
import { type ManagementOutputs, refresh, trpc } from "../../api/client.ts";
import { T } from "../../texts/texts.ts";

export type RealmRecord = ManagementOutputs["operator"]["realms"]["get"];

/** After a change: says that it is stored, and reads realms again. */
export const refreshRealms = () => {
  notifications.show({ message: T.realms.saved });
  return refresh({ queryKey: trpc.operator.realms.pathKey() });
};
