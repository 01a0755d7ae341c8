import { Button, Group, NativeSelect, Stack, Switch, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { changesTo, mergedList, sendChanges, useEdits } from "../../api/changes.ts";
import { api, trpc } from "../../api/client.ts";
import { FailureNote, isThere, PendingScreen } from "../../components/failure.tsx";
import { Form, FormEnd } from "../../components/form.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { Removal } from "../../components/removal.tsx";
import { Section } from "../../components/section.tsx";
import { T } from "../../texts/texts.ts";
import { listOf } from "../clients/kinds.ts";
import { BrandingForm } from "./branding.tsx";
import { type RealmRecord, refreshRealms } from "./record.ts";

const { realms: texts } = T;

/** The realm of all clients, which stays as it is named. */
const DEFAULT = "default";

export function RealmPage() {
  const { id } = useParams({ from: "/frame/realms/$id" });
  const realm = useQuery(trpc.operator.realms.get.queryOptions({ id }));
  if (!isThere(realm)) return <PendingScreen title={texts.title} of={[realm]} height={320} />;
  const { data } = realm;
  return (
    <Stack>
      <PageHead title={data.name} back={{ to: "/realms", label: texts.title }} />
      {data.name !== DEFAULT && (
        <Section title={texts.name}>
          <Name realm={data} />
        </Section>
      )}
      <Section title={texts.signIn}>
        <RequiredSignIn realm={data} />
      </Section>
      <Section title={texts.registration}>
        <Registration realm={data} />
      </Section>
      <Section title={texts.branding}>
        <BrandingForm key={data.id} realm={data} />
      </Section>
      {data.name !== DEFAULT && <Remove realm={data} />}
    </Stack>
  );
}

function Name({ realm: { id, name: current } }: { readonly realm: RealmRecord }) {
  const { fields, text, assertUnchanged, settle } = useEdits({ name: current });
  const saving = useMutation({
    mutationFn: async (sent: typeof fields) => {
      const { name } = await api.operator.realms.get.query({ id }); // others may have changed it since
      assertUnchanged(sent, { name });
      await sendChanges(changesTo({ name }, sent), () => api.operator.realms.rename.mutate({ id, ...sent }));
    },
    onSuccess: (_, sent) => {
      settle(sent);
      return refreshRealms();
    },
  });
  return (
    <Form onSubmit={() => saving.mutate(fields)}>
      <Stack maw="30rem">
        <Text>{texts.nameMeans}</Text>
        <Group align="end">
          <TextInput label={texts.newNameOf} required flex={1} {...text("name")} />
          <Button type="submit" variant="default" loading={saving.isPending}>
            {texts.rename}
          </Button>
        </Group>
        {saving.error && <FailureNote error={saving.error} />}
      </Stack>
    </Form>
  );
}

const Remove = ({ realm: { id, name } }: { readonly realm: RealmRecord }) => (
  <Removal
    question={{ title: texts.remove, of: name, consequences: texts.removeMeans, act: texts.remove }}
    run={() => api.operator.realms.remove.mutate({ id })}
    to="/realms"
  />
);

const CLASSES = ["", "urn:countersign:mfa", "phr"] as const;

function RequiredSignIn({ realm }: { readonly realm: RealmRecord }) {
  const saving = useMutation({
    mutationFn: (acr: (typeof CLASSES)[number]) => api.operator.realms.setRequiredAcr.mutate({ id: realm.id, requiredAcr: acr || null }),
    onSuccess: refreshRealms,
    scope: { id: realm.id }, // one after the other: the field stays enabled, so that it keeps the focus
  });
  return (
    <Stack maw="30rem">
      <NativeSelect
        label={texts.required}
        description={texts.requiredDetail}
        value={(saving.isPending ? saving.variables : realm.requiredAcr) ?? ""}
        onChange={({ currentTarget }) => saving.mutate(CLASSES.find((each) => each === currentTarget.value) ?? "")}
        data={CLASSES.map((value) => ({ value, label: texts.classes[value] ?? value }))}
      />
      <Text role="status" size="sm">
        {saving.data !== undefined && saving.data.lacking !== 0 && texts.lacking(saving.data.lacking)}
      </Text>
      {saving.error && <FailureNote error={saving.error} />}
    </Stack>
  );
}

function Registration({ realm: { id, name, dynamicRegistrationScopes: current } }: { readonly realm: RealmRecord }) {
  const { fields, begun, edit, text, settle } = useEdits({ isOwn: current !== null, scopes: (current ?? []).join(" ") });
  const saving = useMutation({
    mutationFn: async ({ isOwn, scopes }: typeof fields) => {
      const { dynamicRegistrationScopes: now } = await api.operator.realms.get.query({ id }); // others may have changed them since
      const hasOwn = isOwn === begun.isOwn && scopes === begun.scopes ? now !== null : isOwn;
      const own = hasOwn ? (now === null ? listOf(scopes) : mergedList(listOf(begun.scopes), listOf(scopes), now)) : null;
      const changes = changesTo({ dynamicRegistrationScopes: now }, { dynamicRegistrationScopes: own });
      await sendChanges(changes, () => api.operator.realms.update.mutate({ id, dynamicRegistrationScopes: own }));
    },
    onSuccess: (_, sent) => {
      settle(sent);
      return refreshRealms();
    },
  });
  return (
    <Form onSubmit={() => saving.mutate(fields)}>
      <Stack maw="30rem">
        {name !== DEFAULT && <Text>{texts.ofDefault}</Text>}
        <Switch label={texts.ownScopes} checked={fields.isOwn} onChange={({ currentTarget }) => edit({ isOwn: currentTarget.checked })} />
        {fields.isOwn && <TextInput label={texts.scopes} description={texts.scopesDetail} {...text("scopes")} />}
        <FormEnd of={saving} act={texts.saveRegistration} />
      </Stack>
    </Form>
  );
}
