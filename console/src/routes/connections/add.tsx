import { NativeSelect, PasswordInput, Stack, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, queryClient } from "../../api/client.ts";
import { CopyBlock } from "../../components/copy.tsx";
import { Form, FormEnd } from "../../components/form.tsx";
import { LinkButton } from "../../components/link-button.tsx";
import { oneOf } from "../../components/list-search.ts";
import { useMoveOn } from "../../components/move-on.ts";
import { PageHead } from "../../components/page-head.tsx";
import { RealmSelect, useRealms } from "../../components/realm-select.tsx";
import { ISSUER } from "../../environment.ts";
import { T } from "../../texts/texts.ts";
import { listOf } from "../clients/kinds.ts";
import { AUTH_METHODS, type AuthMethod, PRESETS, type Preset } from "./presets.ts";

const { connections: texts } = T;

interface Draft {
  /** undefined: any OpenID Connect provider. */
  readonly preset: Preset | undefined;
  /** Follows the preset until it is typed. */
  readonly name: string | undefined;
  readonly tenant: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly authMethod: AuthMethod;
  readonly clientSecret: string;
  readonly domains: string;
  readonly realmId: string | undefined;
}

const EMPTY: Draft = {
  ...{ preset: "google", name: undefined, tenant: "", issuer: "", clientId: "" },
  ...{ authMethod: "client_secret", clientSecret: "", domains: "", realmId: undefined },
};

const nameOf = ({ name, preset }: Draft): string => (name ?? preset ?? "").trim();
const sentSecret = ({ authMethod, clientSecret }: Draft) => (authMethod === "client_secret" ? clientSecret : undefined);

const create = (draft: Draft) =>
  api.operator.connections.create.mutate({
    name: nameOf(draft),
    ...(draft.preset === undefined ? { issuer: draft.issuer.trim() } : { preset: draft.preset }),
    ...(draft.preset === "microsoft" && { tenant: draft.tenant.trim() }),
    clientId: draft.clientId.trim(),
    authMethod: draft.authMethod,
    clientSecret: sentSecret(draft),
    domains: listOf(draft.domains),
    realmId: draft.realmId,
  });

export function AddConnection() {
  const [draft, setDraft] = useState(EMPTY);
  const moveOn = useMoveOn();
  const { byDefault } = useRealms();
  const creation = useMutation({
    mutationFn: create,
    gcTime: 0, // its variables hold a secret
    onMutate: moveOn,
    onSuccess: ({ name }, _sent, move) => move({ to: "/connections/view", search: { name } }).then(() => queryClient.invalidateQueries()),
  });
  const change = (members: Partial<Draft>): void => setDraft({ ...draft, ...members });
  return (
    <Form onSubmit={() => creation.mutate(draft)}>
      <Stack maw="40rem">
        <PageHead title={texts.add} back={{ to: "/connections", label: texts.title }} detail={texts.addDetail} />
        <Provider draft={draft} change={change} />
        {nameOf(draft) !== "" && <CopyBlock label={texts.redirectUri} text={`${ISSUER}/signin/${nameOf(draft)}/callback`} />}
        <Credentials draft={draft} change={change} />
        <TextInput
          label={texts.domains}
          description={texts.domainsDetail}
          value={draft.domains}
          onChange={({ currentTarget }) => change({ domains: currentTarget.value })}
        />
        <RealmSelect
          label={texts.realm}
          description={texts.realmDetail}
          value={draft.realmId}
          onChange={(realmId) => change({ realmId })}
        />
        <FormEnd of={creation} act={texts.add} disabled={byDefault === undefined}>
          <LinkButton variant="subtle" to="/connections">
            {T.common.cancel}
          </LinkButton>
        </FormEnd>
      </Stack>
    </Form>
  );
}

interface PartProps {
  readonly draft: Draft;
  readonly change: (members: Partial<Draft>) => void;
}

/** Which provider it is, and by what name. */
const Provider = ({ draft, change }: PartProps) => (
  <>
    <NativeSelect
      label={texts.provider}
      value={draft.preset ?? ""}
      onChange={({ currentTarget }) => change({ preset: oneOf(PRESETS, currentTarget.value), authMethod: "client_secret" })}
      data={[...PRESETS.map((value) => ({ value, label: texts.presets[value] })), { value: "", label: texts.presets.other }]}
    />
    {draft.preset === undefined && (
      <TextInput
        type="url"
        label={texts.issuer}
        description={texts.issuerDetail}
        required
        value={draft.issuer}
        onChange={({ currentTarget }) => change({ issuer: currentTarget.value })}
      />
    )}
    {draft.preset === "microsoft" && (
      <TextInput
        label={texts.tenant}
        description={texts.tenantDetail}
        required
        value={draft.tenant}
        onChange={({ currentTarget }) => change({ tenant: currentTarget.value })}
      />
    )}
    <TextInput
      label={texts.name}
      description={texts.nameDetail}
      required
      maxLength={32}
      value={draft.name ?? draft.preset ?? ""}
      onChange={({ currentTarget }) => change({ name: currentTarget.value })}
    />
  </>
);

/** How this server shows the provider who it is. */
const Credentials = ({ draft, change }: PartProps) => (
  <>
    <TextInput
      label={texts.clientId}
      description={texts.clientIdDetail}
      required
      autoComplete="off"
      value={draft.clientId}
      onChange={({ currentTarget }) => change({ clientId: currentTarget.value })}
    />
    {(draft.preset === undefined || draft.preset === "microsoft") && (
      <NativeSelect
        label={texts.authMethod}
        value={draft.authMethod}
        onChange={({ currentTarget }) => change({ authMethod: oneOf(AUTH_METHODS, currentTarget.value) ?? "client_secret" })}
        data={AUTH_METHODS.map((value) => ({ value, label: texts.authMethods[value] }))}
      />
    )}
    {draft.authMethod === "client_secret" && (
      <PasswordInput
        label={texts.clientSecret}
        required
        autoComplete="new-password" // browsers ignore "off" here, and fill in the user's own password
        value={draft.clientSecret}
        onChange={({ currentTarget }) => change({ clientSecret: currentTarget.value })}
      />
    )}
  </>
);
