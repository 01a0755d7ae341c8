import { Button, type ButtonProps } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { type ReactNode, useState } from "react";
import { readAgain } from "../api/client.ts";
import { FailureNote } from "./failure.tsx";

export const showFailure = (error: unknown): void =>
  void notifications.show({ message: <FailureNote error={error} />, color: "red", autoClose: false });

/** Does something at the server, says how it went, and reads again what the screen shows. @returns whether it was done */
export async function act(work: Promise<unknown>, done: string): Promise<boolean> {
  try {
    await work;
    notifications.show({ message: done });
    readAgain(); // an act is done before that
    return true;
  } catch (error) {
    showFailure(error);
    readAgain(error);
    return false;
  }
}

interface ActButtonProps extends ButtonProps {
  readonly run: () => Promise<unknown>;
  readonly children: ReactNode;
  readonly "aria-label"?: string;
}

/** A button for an act that no question precedes: a second click, as of a double click, does not repeat it. */
export function ActButton({ run, ...button }: ActButtonProps) {
  const [isBusy, setBusy] = useState(false);
  const click = async (): Promise<void> => {
    setBusy(true);
    await run();
    setBusy(false);
  };
  return <Button {...button} loading={isBusy} onClick={() => void click()} />;
}
