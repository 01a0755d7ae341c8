import { Group, NativeSelect, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { ChangedSince } from "../../api/changes.ts";
import { api, type ManagementOutputs, trpc, wasReadAgain } from "../../api/client.ts";
import { ActButton, act } from "../../components/act.tsx";
import { useConfirm } from "../../components/confirm.tsx";
import { FailureNote, isThere, PendingScreen } from "../../components/failure.tsx";
import { LinkButton } from "../../components/link-button.tsx";
import { oneOf } from "../../components/list-search.ts";
import { useMoveOn } from "../../components/move-on.ts";
import { PageHead } from "../../components/page-head.tsx";
import { RealmSelect } from "../../components/realm-select.tsx";
import { Section } from "../../components/section.tsx";
import { StateBadge } from "../../components/state-badge.tsx";
import { LANGUAGE } from "../../environment.ts";
import { shownMoment, T } from "../../texts/texts.ts";
import { Delegations } from "../agents/delegations.tsx";
import { ROLES } from "./list.tsx";
import { Consents, Factors, Identities, OwnedClients, Sessions } from "./sections.tsx";

type User = ManagementOutputs["operator"]["users"]["get"];

const { users: texts } = T;

export function UserPage() {
  const { id } = useParams({ from: "/frame/users/$id" });
  const found = useQuery(trpc.operator.users.get.queryOptions({ id }));
  if (!isThere(found)) return <PendingScreen title={texts.title} of={[found]} height={240} />;
  const user = found.data;
  return (
    <Stack>
      <PageHead
        title={user.email}
        back={{ to: "/users", label: texts.title }}
        state={<StateBadge enabled={user.enabled} />}
        detail={[
          [user.firstName, user.lastName].filter((part) => part !== null).join(" "),
          texts.roles[user.role],
          user.emailVerified ? texts.isVerified : texts.notVerified,
          texts.since(shownMoment(user.createdAt)),
        ]
          .filter((part) => part !== "")
          .join(" · ")}
      >
        <LinkButton variant="default" to="/audit" search={{ userId: id }}>
          {texts.audit}
        </LinkButton>
        <LinkButton variant="default" to="/audit" search={{ actorId: id }}>
          {texts.auditBy}
        </LinkButton>
      </PageHead>
      <Acts user={user} />
      <Sessions userId={id} />
      <Factors userId={id} />
      <Consents userId={id} />
      <Section title={texts.agents}>
        <Delegations of={{ kind: "user", id }} />
      </Section>
      <OwnedClients userId={id} />
      <Identities userId={id} />
    </Stack>
  );
}

type Role = User["role"];

function Acts({ user: { id, email, enabled, role, realmId } }: { readonly user: User }) {
  const viewer = useQuery(trpc.viewer.user.queryOptions({ id }));
  const moveOn = useMoveOn();
  const can = viewer.data?.can;
  const ofInviter = role === "operator" ? [texts.invitationsEnd] : [];
  const remove = async (): Promise<void> => {
    const move = moveOn();
    if (await act(api.operator.users.delete.mutate({ id, language: LANGUAGE }), texts.deleted(email))) await move({ to: "/users" });
  };
  return (
    <Group align="end">
      <RoleSelect id={id} email={email} role={role} ofInviter={ofInviter} isOffered={can?.setRole === true} />
      <Move id={id} email={email} realmId={realmId} />
      <ActButton
        variant="default"
        disabled={!enabled}
        run={() => act(api.operator.users.sendReset.mutate({ id, language: LANGUAGE }), texts.resetSent(email))}
      >
        {texts.sendReset}
      </ActButton>
      <ActButton
        variant="default"
        question={{ title: texts.signOutOf(email), consequences: [texts.signOutEnds], act: texts.signOut }}
        run={() => act(api.operator.sessions.end.mutate({ userId: id }), texts.signedOut(email))}
      >
        {texts.signOut}
      </ActButton>
      {enabled ? (
        <ActButton
          variant="default"
          disabled={!can?.disable}
          question={{
            title: texts.disableOf(email),
            consequences: [texts.disableEnds, texts.clientsGoOn, ...ofInviter, texts.canBeUndone],
            act: texts.disable,
          }}
          run={() => act(api.operator.users.disable.mutate({ id }), texts.wasDisabled(email))}
        >
          {texts.disable}
        </ActButton>
      ) : (
        <ActButton
          variant="default"
          disabled={!can?.disable}
          run={() => act(api.operator.users.enable.mutate({ id }), texts.wasEnabled(email))}
        >
          {texts.enable}
        </ActButton>
      )}
      <ActButton
        color="red"
        variant="outline"
        c="var(--mantine-color-text)"
        disabled={!can?.delete}
        question={{
          title: texts.deleteOf(email),
          consequences: [texts.deleteEnds, ...ofInviter, texts.cannotBeUndone],
          act: texts.delete,
          typed: { label: texts.typeEmail, text: email },
        }}
        run={remove}
      >
        {texts.delete}
      </ActButton>
      {can === undefined && viewer.error && <FailureNote error={viewer.error} retry={() => void viewer.refetch()} />}
    </Group>
  );
}

interface RoleSelectProps extends Pick<User, "id" | "email" | "role"> {
  /** What else ends for an operator. */
  readonly ofInviter: readonly string[];
  readonly isOffered: boolean;
}

function RoleSelect({ id, email, role, ofInviter, isOffered }: RoleSelectProps) {
  const confirm = useConfirm();
  /** What is being set. */
  const [next, setNext] = useState<Role>();
  const change = async (to: Role): Promise<void> => {
    const { role: now } = await api.operator.users.get.query({ id }); // others may have changed it since the screen was read
    if (now !== role && now !== to) throw new ChangedSince(T.failure.changedSince(texts.roles[now]));
    await api.operator.users.setRole.mutate({ id, role: to });
  };
  const setRole = async (text: string): Promise<void> => {
    const to = oneOf(ROLES, text);
    if (to === undefined || to === role) return;
    const about = { title: texts.roleOf(email, texts.roles[to]), consequences: [texts.roleMeans[to], ...ofInviter], act: texts.setRole };
    if (!(await confirm(about))) return;
    setNext(to);
    await act(change(to), texts.roleSet(email, texts.roles[to]));
    await wasReadAgain();
    setNext(undefined);
  };
  return (
    <NativeSelect
      label={texts.role}
      value={next ?? role}
      disabled={!isOffered || next !== undefined}
      onChange={({ currentTarget }) => void setRole(currentTarget.value)}
      data={ROLES.map((value) => ({ value, label: texts.roles[value] }))}
    />
  );
}

/** Moves the user to another realm, where there are some. */
function Move({ id, email, realmId }: Pick<User, "id" | "email" | "realmId">) {
  const confirm = useConfirm();
  /** Where the user is being moved to. */
  const [next, setNext] = useState<string>();
  const move = async (to: string, name: string): Promise<void> => {
    if (!(await confirm({ title: texts.moveOf(email, name), consequences: texts.moveMeans, act: texts.move }))) return;
    setNext(to);
    await act(api.operator.users.setRealm.mutate({ id, realmId: to }), texts.moved(email, name));
    await wasReadAgain();
    setNext(undefined);
  };
  return (
    <RealmSelect label={texts.realm} value={next ?? realmId} disabled={next !== undefined} onChange={(to, name) => void move(to, name)} />
  );
}
