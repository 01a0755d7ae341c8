import { api, type ManagementInputs, trpc } from "../../api/client.ts";
import { usePages } from "../../api/pages.ts";
import { DataTable, type Pages } from "../../components/data-table.tsx";
import { columnsOf } from "./columns.tsx";
import { useOpenedRecord } from "./record.tsx";
import type { AuditRecord } from "./sentence.tsx";

export type AuditFilter = Omit<NonNullable<ManagementInputs["operator"]["audit"]["list"]>, "limit" | "cursor" | "sort" | "order">;

interface Shown {
  readonly caption: string;
  /** What is said where there is none. */
  readonly empty: string;
}

/** Audit records, newest first. */
export function Records({ filter, ...shown }: Shown & { readonly filter: AuditFilter }) {
  const pages = usePages(trpc.operator.audit.list.queryKey(filter), (cursor, signal) =>
    api.operator.audit.list.query({ ...filter, ...cursor }, { signal }),
  );
  return <RecordTable pages={pages} {...shown} />;
}

/** Records, each of which opens as a sentence. */
export function RecordTable({ pages, caption, empty }: Shown & { readonly pages: Pages<{ readonly records: readonly AuditRecord[] }> }) {
  const { open, dialog } = useOpenedRecord();
  return (
    <>
      <DataTable
        caption={caption}
        columns={columnsOf(open)}
        pages={pages}
        rowsOf={({ records }) => records}
        keyOf={({ id }) => id}
        empty={{ text: empty }}
      />
      {dialog}
    </>
  );
}
