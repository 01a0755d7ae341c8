import { Button, Group, Modal, Stack } from "@mantine/core";
import { type ReactNode, useRef, useState } from "react";
import { T } from "../texts/texts.ts";
import { FailureNote } from "./failure.tsx";

/** A form that the browser does not send. */
export const Form = ({ onSubmit, children }: { readonly onSubmit: () => unknown; readonly children: ReactNode }) => (
  <form
    onSubmit={(event) => {
      event.preventDefault();
      onSubmit();
    }}
  >
    {children}
  </form>
);

interface FormEndProps {
  /** How its last sending goes, or went. */
  readonly of: { readonly error: unknown; readonly isPending: boolean };
  /** The button that sends it. */
  readonly act: string;
  readonly variant?: "default";
  readonly disabled?: boolean;
  /** Beside the button. */
  readonly children?: ReactNode;
}

/** The end of a form: why it could not be sent, and the button that sends it. */
export const FormEnd = ({ of: { error, isPending }, act, children, ...button }: FormEndProps) => (
  <>
    {error !== null && <FailureNote error={error} />}
    <Group>
      <Button type="submit" loading={isPending} {...button}>
        {act}
      </Button>
      {children}
    </Group>
  </>
);

interface DialogFormProps {
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly title: string;
  /** The button that submits it. */
  readonly act: string;
  /** Resolves to whether it was done, which closes the dialog. */
  readonly onSubmit: () => Promise<boolean>;
  /** Its fields. */
  readonly children: ReactNode;
}

/** A form in a dialog, with cancel and one act. */
export function DialogForm({ opened, onClose, title, act, onSubmit, children }: DialogFormProps) {
  const [isBusy, setBusy] = useState(false);
  /** What was sent since the dialog was opened: an answer to anything else does not close it. */
  const sent = useRef<object>(undefined);
  const close = (): void => {
    sent.current = undefined;
    onClose();
  };
  const submit = async (): Promise<void> => {
    const sending = {};
    sent.current = sending;
    setBusy(true);
    if ((await onSubmit()) && sent.current === sending) close();
    setBusy(false);
  };
  return (
    <Modal opened={opened} onClose={close} title={title}>
      <Form onSubmit={submit}>
        <Stack>
          {children}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
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
