import { Stack, Text } from "@mantine/core";
import { Section } from "../../components/section.tsx";
import { T } from "../../texts/texts.ts";
import { AddIdentity, Identities } from "../workloads/identities.tsx";
import type { ClientPart } from "./client-part.ts";

const { workloads: texts } = T;

/** The workloads that are this client: it has no secret, and shows a token of its platform. */
export const ClientWorkloads = ({ client: { clientId } }: ClientPart) => (
  <Stack maw="44rem">
    <Text>{texts.identitiesOfClient}</Text>
    <Section title={texts.identities}>
      <Identities of={{ clientId }} />
    </Section>
    <Section title={texts.assign}>
      <AddIdentity clientId={clientId} />
    </Section>
  </Stack>
);
