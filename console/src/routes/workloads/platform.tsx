import { Stack, Switch, Text, TextInput } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { changesTo, sendChanges, useEdits } from "../../api/changes.ts";
import { api, type ManagementOutputs, refresh, trpc } from "../../api/client.ts";
import { isThere, PendingScreen } from "../../components/failure.tsx";
import { Form, FormEnd } from "../../components/form.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { Removal } from "../../components/removal.tsx";
import { Section } from "../../components/section.tsx";
import { T } from "../../texts/texts.ts";
import { Identities } from "./identities.tsx";

const { workloads: texts } = T;

type Platform = ManagementOutputs["operator"]["workloadIssuers"]["get"];
interface PartProps {
  readonly platform: Platform;
}

export function PlatformPage() {
  const { uri = "" } = useSearch({ from: "/frame/workloads/view" });
  const found = useQuery(trpc.operator.workloadIssuers.get.queryOptions({ issuer: uri }));
  if (!isThere(found)) return <PendingScreen title={texts.title} of={[found]} height={240} />;
  const platform = found.data;
  return (
    <Stack key={uri} maw="44rem">
      <PageHead title={platform.issuer} back={{ to: "/workloads", label: texts.title }} detail={texts.kinds[platform.kind]} />
      <Section title={texts.identities}>
        <Text>{texts.identitiesOfPlatform}</Text>
        <Identities of={{ issuer: uri }} />
      </Section>
      <Section title={texts.settings}>
        <Settings platform={platform} />
      </Section>
      <Remove platform={platform} />
    </Stack>
  );
}

const fieldsOf = ({ jwksUri, bundleEndpoint, maxLifetime, singleUse, allowPrivate }: Platform) => ({
  ...{ jwksUri: jwksUri ?? "", bundleEndpoint: bundleEndpoint ?? "", maxLifetime: String(maxLifetime) },
  ...{ singleUse, allowPrivate },
});

function Settings({ platform }: PartProps) {
  const { issuer } = platform;
  const { fields, edit, text, assertUnchanged, settle } = useEdits(fieldsOf(platform));
  const saving = useMutation({
    mutationFn: async (sent: typeof fields) => {
      const now = await api.operator.workloadIssuers.get.query({ issuer }); // others may have changed it since the screen was read
      const { singleUse: _, allowPrivate: __, ...typed } = fieldsOf(now);
      assertUnchanged(sent, typed);
      const { jwksUri, bundleEndpoint, maxLifetime, ...switches } = sent;
      const changes = changesTo(platform, {
        ...switches,
        jwksUri: jwksUri.trim() || null,
        bundleEndpoint: bundleEndpoint.trim() || null,
        maxLifetime: Number(maxLifetime),
      });
      await sendChanges(changes, (some) => api.operator.workloadIssuers.update.mutate({ issuer, ...some, updatedAt: now.updatedAt }));
    },
    onSuccess: async (_, sent) => {
      notifications.show({ message: texts.saved });
      settle(sent);
      await refresh();
    },
  });
  return (
    <Form onSubmit={() => saving.mutate(fields)}>
      <Stack>
        {platform.kind === "spiffe" && (
          <TextInput label={texts.bundleEndpoint} description={texts.bundleEndpointDetail} {...text("bundleEndpoint")} />
        )}
        <TextInput label={texts.jwksUri} description={texts.jwksUriDetail} {...text("jwksUri")} />
        <TextInput label={texts.maxLifetime} description={texts.maxLifetimeDetail} required pattern="[0-9]+" {...text("maxLifetime")} />
        <Switch
          label={texts.singleUse}
          description={texts.singleUseDetail}
          checked={fields.singleUse}
          onChange={({ currentTarget }) => edit({ singleUse: currentTarget.checked })}
        />
        <Switch
          label={texts.allowPrivate}
          description={texts.allowPrivateDetail}
          checked={fields.allowPrivate}
          onChange={({ currentTarget }) => edit({ allowPrivate: currentTarget.checked })}
        />
        <FormEnd of={saving} act={texts.save} />
      </Stack>
    </Form>
  );
}

const Remove = ({ platform: { issuer } }: PartProps) => (
  <Removal
    question={{ title: texts.remove, of: issuer, consequences: texts.removeConsequences, act: texts.remove }}
    run={() => api.operator.workloadIssuers.remove.mutate({ issuer })}
    to="/workloads"
  />
);
