import { Button, Stack } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import type { NavigateOptions } from "@tanstack/react-router";
import { queryClient } from "../api/client.ts";
import { type Consequence, useConfirm } from "./confirm.tsx";
import { FailureNote } from "./failure.tsx";
import { useMoveOn } from "./move-on.ts";

interface RemovalProps {
  /** What the user is asked first. */
  readonly question: Consequence;
  /** Removes the record of the screen. */
  readonly run: () => Promise<unknown>;
  /** The list to which it leads. */
  readonly to: NonNullable<NavigateOptions["to"]>;
}

/** A button that removes the record of a screen for good, and why that failed. */
export function Removal({ question, run, to }: RemovalProps) {
  const confirm = useConfirm();
  const moveOn = useMoveOn();
  const removal = useMutation({
    mutationFn: run,
    onMutate: moveOn,
    onSuccess: (_, _sent, move) => move({ to }).then(() => queryClient.invalidateQueries()),
  });
  return (
    <Stack align="flex-start">
      {removal.error && <FailureNote error={removal.error} />}
      <Button
        color="red"
        variant="outline"
        loading={removal.isPending}
        onClick={async () => {
          if (await confirm(question)) removal.mutate();
        }}
      >
        {question.act}
      </Button>
    </Stack>
  );
}
