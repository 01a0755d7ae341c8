import { Anchor } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

/** Whether a client_id is the address of a metadata document. Such clients have no record. */
export const isDocumentClient = (clientId: string): boolean => URL.parse(clientId)?.protocol === "https:";

interface ClientLinkProps {
  readonly clientId: string;
  readonly children: ReactNode;
}

/** The way to a client by its client_id. */
export const ClientLink = ({ clientId, children }: ClientLinkProps) =>
  isDocumentClient(clientId) ? (
    <Anchor component={Link} to="/clients/document" search={{ client: clientId } as never} size="sm">
      {children}
    </Anchor>
  ) : (
    <Anchor component={Link} to="/clients" search={{ q: clientId } as never} size="sm">
      {children}
    </Anchor>
  );
