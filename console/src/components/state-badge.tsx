import { Badge } from "@mantine/core";
import { T } from "../texts/texts.ts";

/** Whether a client, resource or user is enabled. */
export const StateBadge = ({ enabled }: { readonly enabled: boolean }) => (
  <Badge color={enabled ? "teal" : "gray"}>{enabled ? T.common.enabled : T.common.disabled}</Badge>
);
