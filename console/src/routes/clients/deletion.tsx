import { Button, Checkbox, Group, Paper, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useState } from "react";
import { api, refresh } from "../../api/client.ts";
import { showFailure } from "../../components/act.tsx";
import { useConfirm } from "../../components/confirm.tsx";
import type { Column } from "../../components/data-table.tsx";
import { shownNumber, T } from "../../texts/texts.ts";

const { deletion: texts } = T.clients;
/** Clients that one call deletes. */
const MANY = 100;

interface Chosen {
  readonly id: string;
  readonly name: string;
  readonly origin?: string;
}

/** Clients chosen in a list. A choice of one that is no longer shown counts for nothing. */
export function useChoice() {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const toggle = (id: string): void =>
    setChosen((before) => (before.has(id) ? new Set([...before].filter((each) => each !== id)) : new Set([...before, id])));
  const column = <Row extends Chosen>(): Column<Row> => ({
    id: "chosen",
    header: texts.choose,
    tight: true,
    cell: ({ id, name, origin }) =>
      origin !== "built_in" && <Checkbox checked={chosen.has(id)} onChange={() => toggle(id)} aria-label={texts.chooseOne(name)} />,
  });
  return { chosen, setChosen, column };
}

interface DeletionProps {
  /** Those that the list shows. */
  readonly clients: readonly Chosen[];
  readonly chosen: ReadonlySet<string>;
  readonly onChoose: (choose: (before: ReadonlySet<string>) => ReadonlySet<string>) => void;
  /** Milliseconds since the epoch: one that was used or registered since stays. */
  readonly unusedSince: number;
}

/** Deletes the chosen clients, which have not been used for long. */
export function Deletion({ clients, chosen, onChoose, unusedSince }: DeletionProps) {
  const confirm = useConfirm();
  const [isWorking, setWorking] = useState(false);
  const candidates = clients.filter(({ origin }) => origin !== "built_in").map(({ id }) => id);
  const ids = candidates.filter((id) => chosen.has(id));
  const remove = async (): Promise<void> => {
    const count = shownNumber(ids.length);
    if (!(await confirm({ title: texts.act(count), consequences: texts.consequences, act: texts.act(count) }))) return;
    setWorking(true);
    let deleted = 0;
    const refused: string[] = [];
    try {
      for (let from = 0; from < ids.length; from += MANY) {
        const answer = await api.operator.clients.deleteMany.mutate({ ids: ids.slice(from, from + MANY), unusedSince });
        deleted += answer.deleted.length;
        refused.push(...answer.refused.map(({ message }) => message));
      }
      onChoose((before) => new Set([...before].filter((id) => !ids.includes(id)))); // others may have been chosen since
    } catch (error) {
      showFailure(error);
    }
    const message = [
      texts.done(shownNumber(deleted)),
      ...(refused.length > 0 ? [texts.stayed(shownNumber(refused.length), refused[0] ?? "")] : []),
    ].join(" ");
    notifications.show({ message, autoClose: deleted < ids.length ? false : 5000 });
    setWorking(false);
    void refresh();
  };
  if (candidates.length === 0) return null;
  return (
    <Paper withBorder p="sm">
      <Group justify="space-between">
        <Checkbox
          label={texts.all}
          checked={ids.length === candidates.length}
          indeterminate={ids.length > 0 && ids.length < candidates.length}
          onChange={({ currentTarget }) => onChoose(() => new Set(currentTarget.checked ? candidates : []))}
        />
        <Text role="status">{texts.chosen(shownNumber(ids.length))}</Text>
        <Button color="red" variant="outline" disabled={ids.length === 0} loading={isWorking} onClick={() => void remove()}>
          {texts.act(shownNumber(ids.length))}
        </Button>
      </Group>
    </Paper>
  );
}
