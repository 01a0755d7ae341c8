import { Table } from "@mantine/core";
import type { ReactNode } from "react";

export interface Header {
  readonly text: string;
  /** Left out on a narrow screen, as are its cells with the class `low`. */
  readonly low?: boolean;
  /** Share of the width, where several tables have the same columns. */
  readonly width?: string;
}

interface PlainTableProps {
  /** What the table lists, for screen readers. */
  readonly caption: string;
  readonly headers: readonly Header[];
  /** Its rows. */
  readonly children: ReactNode;
}

/** A short table that comes whole. Longer ones are a DataTable. */
export const PlainTable = ({ caption, headers, children }: PlainTableProps) => (
  <Table.ScrollContainer minWidth={0} type="native">
    <Table className="data-table" verticalSpacing="sm">
      <Table.Caption className="visually-hidden">{caption}</Table.Caption>
      <Table.Thead>
        <Table.Tr>
          {headers.map(({ text, low, width }) => (
            <Table.Th key={text} className={low ? "low" : ""} w={width}>
              {text}
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>{children}</Table.Tbody>
    </Table>
  </Table.ScrollContainer>
);
