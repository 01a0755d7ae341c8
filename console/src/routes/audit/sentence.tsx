import type { ManagementOutputs } from "../../api/client.ts";
import { UserName } from "../../components/user-name.tsx";
import { T } from "../../texts/texts.ts";

export type AuditRecord = ManagementOutputs["operator"]["audit"]["list"]["records"][number];

const { audit: texts } = T;

/** Who acted, as far as the record says it. */
export function Actor({ actor, clientId }: Pick<AuditRecord, "actor" | "clientId">) {
  if (actor.type === "service") return texts.service;
  if (actor.type === "user") return <UserName id={actor.id} />;
  return <bdi className="foreign">{texts.clientNamed(clientId ?? actor.id)}</bdi>;
}

/** What was done or tried. */
export const didOf = ({ event }: Pick<AuditRecord, "event">): string => texts.did[event] ?? event;

/** Why it was refused: a code and a reason, as far as there are. */
export const reasonOf = ({ error, reason }: Pick<AuditRecord, "error" | "reason">): string =>
  [error, reason].filter((word) => word !== undefined).join(", ");

/** A record as a sentence. */
export const Sentence = ({ record }: { readonly record: AuditRecord }) => (
  <>
    <Actor {...record} /> {didOf(record)}
    {record.outcome === "failure" && texts.because(reasonOf(record))}.{record.note !== undefined && ` ${texts.note(record.note)}`}
  </>
);
