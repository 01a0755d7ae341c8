import { Button, Group, Modal, Stack } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { T } from "../texts/texts.ts";
import { Form } from "./form.tsx";

interface DialogFormProps {
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly title: string;
  /** The button that submits it. */
  readonly act: string;
  readonly onSubmit: () => Promise<unknown>;
  /** Its fields. */
  readonly children: ReactNode;
}

/** A form in a dialog, with cancel and one act. */
export function DialogForm({ opened, onClose, title, act, onSubmit, children }: DialogFormProps) {
  const [isBusy, setBusy] = useState(false);
  const submit = async (): Promise<void> => {
    setBusy(true);
    await onSubmit();
    setBusy(false);
  };
  return (
    <Modal opened={opened} onClose={onClose} title={title}>
      <Form onSubmit={submit}>
        <Stack>
          {children}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {T.common.cancel}
            </Button>
            <Button type="submit" loading={isBusy}>
              {act}
            </Button>
          </Group>
        </Stack>
      </Form>
    </Modal>
  );
}
