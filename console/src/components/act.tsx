import { Button, type ButtonProps } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { type ReactNode, useState } from "react";
import { readAgain, wasReadAgain } from "../api/client.ts";
import { type Consequence, useConfirm } from "./confirm.tsx";
import { FailureNote } from "./failure.tsx";

export const showFailure = (error: unknown): void =>
  void notifications.show({ message: <FailureNote error={error} />, color: "red", autoClose: false });

/** Milliseconds after which is said what was done, though the screen cannot be read again. */
const LATEST = 3000;

/** Does something at the server, reads again what the screen shows, and says how it went once that is seen. @returns whether it was done */
export async function act(work: Promise<unknown>, done: string): Promise<boolean> {
  try {
    await work;
    readAgain(); // an act is done before that
    void Promise.race([wasReadAgain(), new Promise((resolve) => setTimeout(resolve, LATEST))]).then(() =>
      notifications.show({ message: done }),
    );
    return true;
  } catch (error) {
    showFailure(error);
    readAgain(error);
    return false;
  }
}

interface ActButtonProps extends ButtonProps {
  /** What the user is asked first. */
  readonly question?: Consequence | undefined;
  readonly run: () => Promise<unknown>;
  readonly children: ReactNode;
  readonly "aria-label"?: string;
}

/** A button for an act, which is busy until the screen shows what the act has changed: it is not repeated by a second click, nor where answers are slow. */
export function ActButton({ question, run, ...button }: ActButtonProps) {
  const confirm = useConfirm();
  const [isBusy, setBusy] = useState(false);
  const click = async (): Promise<void> => {
    if (question !== undefined && !(await confirm(question))) return;
    setBusy(true);
    await run();
    await wasReadAgain();
    setBusy(false);
  };
  return <Button {...button} loading={isBusy} onClick={() => void click()} />;
}
