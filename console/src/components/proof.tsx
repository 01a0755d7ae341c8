import { Alert, Button, Group, getDefaultZIndex, Modal, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useEffect, useState } from "react";
import { onProofNeeded } from "../api/step-up.ts";
import type { Demand } from "../auth/code-flow.ts";
import { signInAgain } from "../auth/session.ts";
import { T } from "../texts/texts.ts";

type Asked = { readonly demand: Demand | undefined; readonly answer: (hasSignedIn: boolean) => void; readonly abort: AbortController };

/** Above the dialog whose call waits for the sign-in. */
const Z_INDEX = getDefaultZIndex("modal") + 1;

/** Asks for a new sign-in when the server refuses a call without one, and when the session has ended. The window opens at a click, so that browsers do not block it. */
export function Proofs() {
  const [asked, setAsked] = useState<Asked>();
  const [failure, setFailure] = useState<Error>();
  useEffect(() => onProofNeeded((demand) => new Promise((answer) => setAsked({ demand, answer, abort: new AbortController() }))), []);
  const settle = (one: Asked | undefined, hasSignedIn: boolean): void => {
    if (one === undefined || one.abort.signal.aborted) return; // answered before, as by Cancel: another one may be asked by now
    one.answer(hasSignedIn);
    one.abort.abort();
    setAsked(undefined);
    setFailure(undefined);
    if (!hasSignedIn) notifications.show({ message: T.proof.refused, color: "red" });
  };
  /** A window that fails leaves the question open, for another one. */
  const signIn = (one: Asked): void => {
    setFailure(undefined);
    signInAgain(one.demand, one.abort.signal).then(
      (done) => done && settle(one, true),
      (error: Error) => one.abort.signal.aborted || setFailure(error),
    );
  };
  const { title, text } = asked !== undefined && asked.demand === undefined ? T.proof.ended : T.proof;
  return (
    <Modal opened={asked !== undefined} onClose={() => settle(asked, false)} title={title} zIndex={Z_INDEX}>
      <Text>{text}</Text>
      <div role="status">
        {failure !== undefined && (
          <Alert color="red" mt="md">
            <Text>{T.proof.refused}</Text>
            <Text className="foreign">{failure.message}</Text>
          </Alert>
        )}
      </div>
      <Group justify="flex-end" mt="lg">
        <Button variant="default" onClick={() => settle(asked, false)}>
          {T.common.cancel}
        </Button>
        {/* The second click of a double click would open a second window. */}
        <Button data-autofocus onClick={({ detail }) => asked && detail < 2 && signIn(asked)}>
          {T.proof.act}
        </Button>
      </Group>
    </Modal>
  );
}
