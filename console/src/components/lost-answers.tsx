import { Stack, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { queryClient } from "../api/client.ts";
import { T } from "../texts/texts.ts";
import { showFailure } from "./act.tsx";
import { CopyBlock } from "./copy.tsx";

interface Secret {
  /** Names it where nothing else on the screen does. */
  readonly label: string;
  /** Undefined: there is none. */
  readonly text: string | undefined;
}

declare module "@tanstack/react-query" {
  interface Register {
    /** Of a change that is answered by a secret, which no later answer has. */
    readonly mutationMeta: { readonly secretOf?: (answer: never) => Secret };
  }
}

/** From now on, shows what the screen of a change would have shown, where its user has left it: a failure, and a secret. */
export function showLostAnswers(): void {
  const shown = new WeakSet<object>();
  queryClient.getMutationCache().subscribe((event) => {
    if (event.type === "observerAdded") shown.add(event.mutation);
    if (event.type === "observerRemoved") shown.delete(event.mutation);
    if (event.type !== "updated" || shown.has(event.mutation)) return;
    if (event.action.type === "error") showFailure(event.action.error);
    const { secretOf } = event.mutation.meta ?? {};
    if (event.action.type === "success" && secretOf !== undefined) showSecret(secretOf(event.action.data as never));
  });
}

function showSecret({ label, text }: Secret): void {
  if (text === undefined) return;
  const message = (
    <Stack gap="xs">
      <CopyBlock label={label} text={text} isSecret />
      <Text size="sm">{T.clients.create.secretOnce}</Text>
    </Stack>
  );
  notifications.show({ message, color: "yellow", autoClose: false });
}
