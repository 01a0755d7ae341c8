import { Anchor, Code } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { T } from "../texts/texts.ts";

interface RequestLinkProps {
  readonly requestId: string | null | undefined;
  /** Default: the id. */
  readonly children?: ReactNode;
}

/** A request id, as the way to its explanation. */
export const RequestLink = ({ requestId, children }: RequestLinkProps) =>
  requestId ? (
    <Anchor component={Link} to={"/explain" as never} search={{ request: requestId } as never} title={T.common.explainRequest} size="sm">
      {children ?? <Code>{requestId}</Code>}
    </Anchor>
  ) : null;
