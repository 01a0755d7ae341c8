import { Alert, Text } from "@mantine/core";
import { CopyBlock } from "../../components/copy.tsx";
import { ISSUER } from "../../environment.ts";
import { T } from "../../texts/texts.ts";
import { dotenv } from "./kinds.ts";

const { create: texts } = T.clients;

/** The id of a client, and its secret where it has one: no other page shows it. */
export function SecretOnce({ clientId, secret }: { readonly clientId: string; readonly secret: string | undefined }) {
  return (
    <>
      {secret === undefined ? (
        <Text>{texts.noSecret}</Text>
      ) : (
        <Alert color="yellow" title={texts.secretTitle}>
          {texts.secretOnce}
        </Alert>
      )}
      <CopyBlock label={T.clients.clientId} text={clientId} />
      {secret !== undefined && <CopyBlock label={texts.secret} text={secret} isSecret />}
      <CopyBlock label=".env" text={dotenv(ISSUER, clientId, secret)} />
    </>
  );
}
