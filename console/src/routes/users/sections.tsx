import { Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { api, trpc } from "../../api/client.ts";
import { ActButton, act } from "../../components/act.tsx";
import { ClientLink } from "../../components/client-link.tsx";
import type { Consequence } from "../../components/confirm.tsx";
import { Section } from "../../components/section.tsx";
import { LANGUAGE } from "../../environment.ts";
import { shownAgo, shownNumber, T } from "../../texts/texts.ts";

interface OfUser {
  readonly userId: string;
}

interface Line {
  readonly key: string;
  readonly name: string;
  /** Default: the name. */
  readonly shown?: ReactNode;
  readonly detail: string;
  readonly act?: { readonly label: string; readonly run: () => Promise<unknown>; readonly question?: Consequence };
}

const { users: texts } = T;
/** A page of the API at its longest. */
const MOST_CLIENTS = 200;
const ago = (at: number | null): string => (at === null ? T.common.never : shownAgo(at));

/** A short list, of which each line may have an act. */
const Lines = ({ caption, lines }: { readonly caption: string; readonly lines: readonly Line[] }): ReactNode => (
  <Table.ScrollContainer minWidth={0} type="native">
    <Table>
      <Table.Caption className="visually-hidden">{caption}</Table.Caption>
      <Table.Tbody>
        {lines.map(({ key, name, shown = name, detail, act: one }) => (
          <Table.Tr key={key}>
            <Table.Td className="foreign">
              {shown}
              <Text size="xs" c="dimmed" className="foreign">
                {detail}
              </Text>
            </Table.Td>
            <Table.Td ta="end">
              {one !== undefined && (
                <ActButton size="xs" variant="default" question={one.question} run={one.run} aria-label={`${one.label}: ${name}`}>
                  {one.label}
                </ActButton>
              )}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  </Table.ScrollContainer>
);

export function Sessions({ userId }: OfUser) {
  const found = useQuery(trpc.operator.sessions.list.queryOptions({ userId }));
  const lines = (found.data?.sessions ?? []).map(({ id, browser, system, address, signedInAt, lastSeenAt }) => ({
    key: id,
    name: [browser, system].filter((part) => part !== null && part !== "").join(", ") || texts.unknownDevice,
    detail: [address, texts.signedIn(ago(signedInAt)), texts.lastSeen(ago(lastSeenAt))].filter((part) => part !== null).join(" · "),
    act: { label: texts.signOut, run: () => act(api.operator.sessions.end.mutate({ userId, id }), texts.sessionEnded) },
  }));
  return (
    <Section title={texts.sessions} of={found} empty={found.data?.sessions.length === 0 ? texts.noSessions : undefined}>
      <Lines caption={texts.sessions} lines={lines} />
    </Section>
  );
}

export function Factors({ userId }: OfUser) {
  const found = useQuery(trpc.operator.factors.list.queryOptions({ userId }));
  const removing = (name: string, work: () => Promise<unknown>) => ({
    label: texts.remove,
    question: { title: texts.removeFactor(name), consequences: [texts.removeFactorMeans, texts.cannotBeUndone], act: texts.remove },
    run: () => act(work(), texts.factorRemoved),
  });
  const app = found.data?.authenticatorApp;
  const lines: Line[] = [
    ...(app
      ? [
          {
            ...{ key: "app", name: texts.app, detail: texts.appDetail(ago(app.addedAt), app.recoveryCodes) },
            act: removing(texts.app, () => api.operator.factors.removeApp.mutate({ userId, language: LANGUAGE })),
          },
        ]
      : []),
    ...(found.data?.passkeys ?? []).map(({ id, name, createdAt, lastUsedAt, copiedAt }) => ({
      key: id,
      name,
      detail: `${texts.passkey} · ${texts.added(ago(createdAt))} · ${texts.lastUsed(ago(lastUsedAt))}${copiedAt === null ? "" : ` · ${texts.copied}`}`,
      act: removing(name, () => api.operator.factors.removePasskey.mutate({ userId, id, language: LANGUAGE })),
    })),
  ];
  return (
    <Section title={texts.factors} of={found} empty={lines.length === 0 ? texts.noFactors : undefined}>
      <Lines caption={texts.factors} lines={lines} />
    </Section>
  );
}

/** Clients that the user manages, with secrets that they may know. */
export function OwnedClients({ userId }: OfUser) {
  const found = useQuery(trpc.operator.clients.list.queryOptions({ ownerId: userId, limit: MOST_CLIENTS }));
  const { clients = [], total, totalIsExact } = found.data ?? {};
  const lines = clients.map(({ id, name, clientId, enabled, lastUsedAt }) => ({
    key: id,
    name,
    shown: <ClientLink clientId={clientId}>{name}</ClientLink>,
    detail: [clientId, texts.lastUsed(ago(lastUsedAt)), enabled ? T.common.enabled : T.common.disabled].join(" · "),
    ...(enabled && {
      act: {
        label: texts.disable,
        question: { title: texts.disableOf(name), consequences: [texts.clientEnds], act: texts.disable },
        run: () => act(api.operator.clients.update.mutate({ id, patch: { enabled: false } }), texts.wasDisabled(name)),
      },
    }),
  }));
  const isLonger = typeof total === "number" && total > lines.length;
  return (
    <Section title={texts.clients} of={found} empty={lines.length === 0 ? texts.noClients : undefined}>
      <Text size="sm">{texts.clientsStay}</Text>
      <Lines caption={texts.clients} lines={lines} />
      {isLonger && <Text size="sm">{texts.moreClients(shownNumber(total), totalIsExact === false)}</Text>}
    </Section>
  );
}

export function Consents({ userId }: OfUser) {
  const found = useQuery(trpc.operator.consents.list.queryOptions({ userId }));
  const lines = (found.data?.consents ?? []).map(({ id, clientId, clientName, scopes, resources, lastUsedAt }) => ({
    key: id,
    name: clientName,
    shown: <ClientLink clientId={clientId}>{clientName}</ClientLink>,
    detail: [...scopes, ...resources, texts.lastUsed(ago(lastUsedAt))].join(" · "),
    act: {
      label: texts.removeAccess,
      question: { title: texts.removeAccessOf(clientName), consequences: [texts.removeAccessMeans], act: texts.removeAccess },
      run: () => act(api.operator.consents.revoke.mutate({ userId, id }), texts.accessRemoved),
    },
  }));
  return (
    <Section title={texts.consents} of={found} empty={found.data?.consents.length === 0 ? texts.noConsents : undefined}>
      <Lines caption={texts.consents} lines={lines} />
    </Section>
  );
}

export function Identities({ userId }: OfUser) {
  const found = useQuery(trpc.operator.connections.identities.queryOptions({ userId }));
  const lines = (found.data?.identities ?? []).map(({ issuer, subject, title, createdAt }) => ({
    key: `${issuer} ${subject}`,
    name: title ?? issuer,
    detail: `${issuer} · ${subject} · ${texts.added(ago(createdAt))}`,
  }));
  return (
    <Section title={texts.identities} of={found} empty={found.data?.identities.length === 0 ? texts.noIdentities : undefined}>
      <Lines caption={texts.identities} lines={lines} />
    </Section>
  );
}
