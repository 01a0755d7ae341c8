import { Button, type ButtonProps } from "@mantine/core";
import { type ReactNode, useState } from "react";

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
