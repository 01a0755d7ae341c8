import { Button, Group, List, Modal, Text, TextInput } from "@mantine/core";
import { useLocation } from "@tanstack/react-router";
import { createContext, type ReactNode, useContext, useEffect, useState } from "react";
import { T } from "../texts/texts.ts";
import { Form } from "./form.tsx";
import { placeOf } from "./move-on.ts";

/** An act that cannot be undone, as the user is asked about it. */
export interface Consequence {
  readonly title: string;
  /** What the act is about, where the title does not name it. */
  readonly of?: string;
  /** What will have happened, one sentence each. */
  readonly consequences: readonly string[];
  /** The button. */
  readonly act: string;
  /** What has to be typed first, such as a name: for acts that a wrong click must not do. */
  readonly typed?: { readonly label: string; readonly text: string } | undefined;
}

/** A text as it can be read and typed: names may have invisible characters, and spaces that are shown as one. Pure. */
const typable = (text: string): string =>
  text
    .replace(/\p{Default_Ignorable_Code_Point}/gu, "")
    .replace(/\s+/g, " ")
    .trim();

type Confirm = (about: Consequence) => Promise<boolean>;
type Open = Consequence & { readonly answer: (isConfirmed: boolean) => void };

const Context = createContext<Confirm>(async () => false);

/** Asks before an act: `if (await confirm({ … })) …`. */
export const useConfirm = (): Confirm => useContext(Context);

export function Confirmations({ children }: { readonly children: ReactNode }) {
  const [open, setOpen] = useState<Open>();
  const confirm: Confirm = (about) => new Promise((answer) => setOpen({ ...about, answer }));
  const place = useLocation({ select: placeOf });
  // biome-ignore lint/correctness/useExhaustiveDependencies: a question is about what was on the screen when it was asked
  useEffect(() => () => setOpen(undefined), [place]);
  const settle = (isConfirmed: boolean): void => {
    open?.answer(isConfirmed);
    setOpen(undefined);
  };
  return (
    <Context value={confirm}>
      {children}
      <Modal opened={open !== undefined} onClose={() => settle(false)} title={open?.title}>
        {open !== undefined && <Question key={open.title} {...open} answer={settle} />}
      </Modal>
    </Context>
  );
}

function Question({ of, consequences, act, typed, answer }: Open) {
  const [text, setText] = useState("");
  return (
    <Form onSubmit={() => answer(true)}>
      {of !== undefined && (
        <Text mb="sm" fw={600} className="foreign">
          {of}
        </Text>
      )}
      {consequences.length === 1 ? (
        <Text>{consequences[0]}</Text>
      ) : (
        <List>
          {consequences.map((each) => (
            <List.Item key={each}>{each}</List.Item>
          ))}
        </List>
      )}
      {typed !== undefined && (
        <TextInput mt="md" label={typed.label} value={text} onChange={({ currentTarget }) => setText(currentTarget.value)} data-autofocus />
      )}
      <Group justify="flex-end" mt="lg">
        <Button variant="default" onClick={() => answer(false)}>
          {T.common.cancel}
        </Button>
        <Button type="submit" color="red.9" disabled={typed !== undefined && typable(text) !== typable(typed.text)}>
          {act}
        </Button>
      </Group>
    </Form>
  );
}
