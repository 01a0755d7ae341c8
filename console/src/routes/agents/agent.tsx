import { Alert, Button, Stack, Text, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { api, type ManagementOutputs, trpc } from "../../api/client.ts";
import { ActButton, act } from "../../components/act.tsx";
import { FailureNote, isThere, PendingScreen } from "../../components/failure.tsx";
import { DialogForm } from "../../components/form.tsx";
import { LinkButton } from "../../components/link-button.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { Section } from "../../components/section.tsx";
import { shownAgo, T } from "../../texts/texts.ts";
import { Delegations } from "./delegations.tsx";
import { AgentState } from "./list.tsx";

type Agent = ManagementOutputs["operator"]["clients"]["get"];

const { agents: texts } = T;

export function AgentPage() {
  const { id } = useParams({ from: "/frame/agents/$id" });
  const found = useQuery(trpc.operator.clients.get.queryOptions({ id }));
  if (!isThere(found)) return <PendingScreen title={texts.title} of={[found]} height={240} />;
  const agent = found.data;
  return (
    <Stack>
      <Paused agent={agent} />
      <Section title={texts.most}>
        <dl className="facts">
          <dt>{texts.scopes}</dt>
          <dd>{agent.scopes.join(", ") || T.common.none}</dd>
          <dt>{texts.mode}</dt>
          <dd>{texts.modeMeans[agent.maxAgentMode ?? "none"]}</dd>
        </dl>
      </Section>
      <Section title={texts.forWhom}>
        <Delegations of={{ kind: "agent", clientId: agent.clientId }} />
      </Section>
    </Stack>
  );
}

/** The head of the screen: the name, the state, and pausing with a reason. */
function Paused({ agent: { id, name, clientId, enabled } }: { readonly agent: Agent }) {
  const { data, error, refetch } = useQuery(trpc.operator.agents.pauses.queryOptions({ agent: clientId, userId: null, limit: 1 }));
  const [isAsking, { open, close }] = useDisclosure(false);
  const pause = data?.pauses[0];
  return (
    <>
      <PageHead
        title={name}
        back={{ to: "/agents", label: texts.title }}
        state={<AgentState isPaused={data && pause !== undefined} enabled={enabled} />}
        detail={clientId}
      >
        <LinkButton variant="default" to="/clients/$id" params={{ id }}>
          {texts.settings}
        </LinkButton>
        <LinkButton variant="default" to="/audit" search={{ clientId }}>
          {texts.audit}
        </LinkButton>
        {pause === undefined ? (
          <Button color="yellow" variant="outline" c="var(--mantine-color-text)" disabled={!enabled || data === undefined} onClick={open}>
            {texts.pause}
          </Button>
        ) : (
          <ActButton run={() => act(api.operator.agents.resume.mutate({ clientId }), texts.wasResumed(name))}>{texts.resume}</ActButton>
        )}
      </PageHead>
      {data === undefined && error && <FailureNote error={error} retry={() => void refetch()} />}
      {pause !== undefined && (
        <Alert color="yellow" title={texts.pausedSince(shownAgo(pause.pausedAt))}>
          <Text className="foreign">{pause.reason ?? texts.noReason}</Text>
        </Alert>
      )}
      <PauseDialog opened={isAsking} onClose={close} name={name} clientId={clientId} />
    </>
  );
}

interface DialogProps {
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly name: string;
  readonly clientId: string;
}

function PauseDialog({ opened, onClose, name, clientId }: DialogProps) {
  const [reason, setReason] = useState("");
  const pause = async (): Promise<boolean> => {
    const why = reason.trim();
    const isPaused = await act(api.operator.agents.pause.mutate({ clientId, ...(why !== "" && { reason: why }) }), texts.wasPaused(name));
    if (isPaused) setReason((typed) => (typed === reason ? "" : typed));
    return isPaused;
  };
  return (
    <DialogForm opened={opened} onClose={onClose} title={texts.pauseOf(name)} act={texts.pause} onSubmit={pause}>
      <Text className="foreign">{texts.pauseMeans(name)}</Text>
      <Text>{texts.pauseUndone}</Text>
      <TextInput
        label={texts.reason}
        description={texts.reasonHint}
        maxLength={200}
        value={reason}
        onChange={({ currentTarget }) => setReason(currentTarget.value)}
        data-autofocus
      />
    </DialogForm>
  );
}
