import { Alert, Button, Group, List, PasswordInput, Stack, Text, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { api, refresh } from "../../api/client.ts";
import { useViewer } from "../../api/viewer.ts";
import { answerInPopup, type FlowClient, openPopup, redeem, type TokenAnswer } from "../../auth/code-flow.ts";
import { CopyBlock } from "../../components/copy.tsx";
import { FailureNote } from "../../components/failure.tsx";
import { Form } from "../../components/form.tsx";
import { ISSUER } from "../../environment.ts";
import { jwtPart } from "../../jwt-part.ts";
import { T } from "../../texts/texts.ts";
import type { ClientPart } from "./client-part.ts";

const { tryIt: texts } = T.clients;

/** Where a flow that is tried ends: a page of the console, which a client has to have among its redirect URIs. */
const REDIRECT = `${ISSUER}/console/try/callback`;

/** The client's real code flow, in a window of its own. */
export function TryIt(part: ClientPart) {
  const { client, can } = part;
  if (client.redirectUris.includes(REDIRECT)) return <Flow {...part} />;
  return can.update ? <Permit {...part} /> : <Text>{texts.notPermitted}</Text>;
}

/** Adds the redirect URI, which is said to be added. */
function Permit({ client: { id } }: ClientPart) {
  const { isOperator } = useViewer();
  const procedures = isOperator ? api.operator.clients : api.clients;
  const permission = useMutation({
    mutationFn: async () => {
      const { redirectUris, updatedAt } = await procedures.get.query({ id }); // others may have changed them since the screen was read
      return procedures.update.mutate({ id, patch: { redirectUris: [...redirectUris, REDIRECT] }, updatedAt });
    },
    onSuccess: () => refresh(),
  });
  return (
    <Stack maw="44rem" align="flex-start">
      <Text>{texts.permit}</Text>
      <CopyBlock label={texts.redirectUri} text={REDIRECT} />
      {permission.error && <FailureNote error={permission.error} />}
      <Button onClick={() => permission.mutate()} loading={permission.isPending}>
        {texts.permitAct}
      </Button>
    </Stack>
  );
}

async function run(client: FlowClient, popup: Window | null, signal: AbortSignal): Promise<TokenAnswer> {
  if (popup === null) throw new Error(texts.blocked);
  const arrived = await answerInPopup(popup, client, {}, signal);
  if (arrived === undefined) throw new Error(texts.stopped);
  return redeem(arrived.answer, client, arrived.proof);
}

function Flow({ client }: ClientPart) {
  const [scope, setScope] = useState(client.scopes.join(" "));
  const [resource, setResource] = useState("");
  const [secret, setSecret] = useState("");
  const abort = useRef(new AbortController());
  const isPublic = client.tokenEndpointAuthMethod === "none";
  const hasSecret = client.tokenEndpointAuthMethod.startsWith("client_secret");
  const flow = useMutation({
    mutationFn: () => {
      abort.current = new AbortController();
      return run(
        {
          clientId: client.clientId,
          redirectUri: REDIRECT,
          scope,
          resource: resource || undefined,
          secret: hasSecret ? secret : undefined,
          pushed: client.requirePushedAuthorizationRequests,
        },
        openPopup(),
        abort.current.signal,
      );
    },
  });
  if (!isPublic && !hasSecret) return <Text>{texts.noSecretMethod}</Text>;
  return (
    <Stack maw="44rem">
      <Form onSubmit={() => flow.mutate()}>
        <Stack>
          <TextInput label={T.clients.create.scopes} value={scope} onChange={({ currentTarget }) => setScope(currentTarget.value)} />
          <TextInput
            label={texts.resource}
            description={texts.resourceDetail}
            type="url"
            value={resource}
            onChange={({ currentTarget }) => setResource(currentTarget.value)}
          />
          {hasSecret && (
            <PasswordInput
              label={T.clients.create.secret}
              description={texts.secretDetail}
              required
              autoComplete="off"
              value={secret}
              onChange={({ currentTarget }) => setSecret(currentTarget.value)}
            />
          )}
          <Group>
            <Button type="submit" loading={flow.isPending}>
              {texts.act}
            </Button>
            {flow.isPending && (
              <Button variant="default" onClick={() => abort.current.abort()}>
                {T.common.cancel}
              </Button>
            )}
          </Group>
        </Stack>
      </Form>
      <div role="status">
        {flow.error && (
          <Alert color="red" title={T.failure.title} className="foreign">
            {flow.error.message}
          </Alert>
        )}
        {flow.data && <Tokens answer={flow.data} />}
      </div>
    </Stack>
  );
}

function Tokens({ answer }: { readonly answer: TokenAnswer }) {
  const tokens = ["access_token", "id_token"].flatMap((name) => (typeof answer[name] === "string" ? [[name, answer[name]] as const] : []));
  const others = Object.entries(answer).filter(([name]) => !tokens.some(([each]) => each === name) && name !== "refresh_token");
  return (
    <Stack>
      <Text fw={600}>{texts.received}</Text>
      <List>
        {others.map(([name, value]) => (
          <List.Item key={name} className="foreign">
            {name}: {String(value)}
          </List.Item>
        ))}
        {"refresh_token" in answer && <List.Item>refresh_token: {texts.notShown}</List.Item>}
      </List>
      {tokens.map(([name, token]) => (
        <CopyBlock key={name} label={name} text={decodedToken(token) ?? token} />
      ))}
    </Stack>
  );
}

/** Header and claims of a JWT, not verified. Pure. @returns undefined for any other text */
function decodedToken(token: string): string | undefined {
  const [header, claims, signature, ...rest] = token.split(".");
  if (header === undefined || claims === undefined || signature === undefined || rest.length > 0) return undefined;
  try {
    return [header, claims].map((part) => JSON.stringify(jwtPart(part), null, 2)).join("\n");
  } catch {
    return undefined;
  }
}
