import { Button, Group, NativeSelect, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { ChangedSince } from "../../api/changes.ts";
import { api, type ManagementOutputs, trpc } from "../../api/client.ts";
import { ActButton, act } from "../../components/act.tsx";
import { useConfirm } from "../../components/confirm.tsx";
import { FailureNote, isThere, PendingScreen } from "../../components/failure.tsx";
import { LinkButton } from "../../components/link-button.tsx";
import { oneOf } from "../../components/list-search.ts";
import { useMoveOn } from "../../components/move-on.ts";
import { PageHead } from "../../components/page-head.tsx";
import { Section } from "../../components/section.tsx";
import { StateBadge } from "../../components/state-badge.tsx";
import { LANGUAGE } from "../../environment.ts";
import { shownMoment, T } from "../../texts/texts.ts";
import { Delegations } from "../agents/delegations.tsx";
import { ROLES } from "./list.tsx";
import { Consents, Factors, Identities, Sessions } from "./sections.tsx";

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
      <Identities userId={id} />
    </Stack>
  );
}

function Acts({ user: { id, email, enabled, role } }: { readonly user: User }) {
  const viewer = useQuery(trpc.viewer.user.queryOptions({ id }));
  const confirm = useConfirm();
  const moveOn = useMoveOn();
  const can = viewer.data?.can;
  const ofInviter = role === "operator" ? [texts.invitationsEnd] : [];
  const disable = async (): Promise<void> => {
    const about = { title: texts.disableOf(email), consequences: [texts.disableEnds, ...ofInviter, texts.canBeUndone], act: texts.disable };
    if (await confirm(about)) await act(api.operator.users.disable.mutate({ id }), texts.wasDisabled(email));
  };
  const signOut = async (): Promise<void> => {
    const about = { title: texts.signOutOf(email), consequences: [texts.signOutEnds], act: texts.signOut };
    if (await confirm(about)) await act(api.operator.sessions.end.mutate({ userId: id }), texts.signedOut(email));
  };
  const remove = async (): Promise<void> => {
    const typed = { label: texts.typeEmail, text: email };
    if (
      !(await confirm({
        title: texts.deleteOf(email),
        consequences: [texts.deleteEnds, ...ofInviter, texts.cannotBeUndone],
        act: texts.delete,
        typed,
      }))
    )
      return;
    const move = moveOn();
    if (await act(api.operator.users.delete.mutate({ id, language: LANGUAGE }), texts.deleted(email))) await move({ to: "/users" });
  };
  const setRole = async (text: string): Promise<void> => {
    const next = oneOf(ROLES, text);
    if (next === undefined || next === role) return;
    const about = {
      title: texts.roleOf(email, texts.roles[next]),
      consequences: [texts.roleMeans[next], ...ofInviter],
      act: texts.setRole,
    };
    if (await confirm(about)) await act(change(next), texts.roleSet(email, texts.roles[next]));
  };
  const change = async (next: typeof role): Promise<void> => {
    const { role: now } = await api.operator.users.get.query({ id }); // others may have changed it since the screen was read
    if (now !== role && now !== next) throw new ChangedSince(T.failure.changedSince(texts.roles[now]));
    await api.operator.users.setRole.mutate({ id, role: next });
  };
  return (
    <Group align="end">
      <NativeSelect
        label={texts.role}
        value={role}
        disabled={!can?.setRole}
        onChange={({ currentTarget }) => void setRole(currentTarget.value)}
        data={ROLES.map((value) => ({ value, label: texts.roles[value] }))}
      />
      <ActButton
        variant="default"
        disabled={!enabled}
        run={() => act(api.operator.users.sendReset.mutate({ id, language: LANGUAGE }), texts.resetSent(email))}
      >
        {texts.sendReset}
      </ActButton>
      <Button variant="default" onClick={() => void signOut()}>
        {texts.signOut}
      </Button>
      {enabled ? (
        <Button variant="default" disabled={!can?.disable} onClick={() => void disable()}>
          {texts.disable}
        </Button>
      ) : (
        <ActButton
          variant="default"
          disabled={!can?.disable}
          run={() => act(api.operator.users.enable.mutate({ id }), texts.wasEnabled(email))}
        >
          {texts.enable}
        </ActButton>
      )}
      <Button color="red" variant="outline" c="var(--mantine-color-text)" disabled={!can?.delete} onClick={() => void remove()}>
        {texts.delete}
      </Button>
      {can === undefined && viewer.error && <FailureNote error={viewer.error} retry={() => void viewer.refetch()} />}
    </Group>
  );
}
