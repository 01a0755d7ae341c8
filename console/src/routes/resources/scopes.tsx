import { Button, Code, Group, NativeSelect, Stack, Table, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { ChangedSince } from "../../api/changes.ts";
import { api } from "../../api/client.ts";
import { ActButton, act } from "../../components/act.tsx";
import { DialogForm } from "../../components/form.tsx";
import { PlainTable } from "../../components/plain-table.tsx";
import { LANGUAGE } from "../../environment.ts";
import { T } from "../../texts/texts.ts";
import type { Resource } from "./record.ts";

const { resources: texts } = T;

type Scope = Resource["scopes"][number];
type Acr = NonNullable<NonNullable<Scope["stepUp"]>["acr"]>;

const HEADERS = [{ text: texts.usersSee }, { text: texts.acts }];
const OTHER = LANGUAGE === "de" ? "en" : "de";
const CLASSES: readonly Acr[] = ["urn:countersign:mfa", "phr"];
const SECONDS = 60;

/** Stores other scopes of a resource, made of those that it has now: others may have changed it since the screen was read. */
async function change({ realmId, resource }: Resource, scopesOf: (now: readonly Scope[]) => readonly Scope[]): Promise<void> {
  const named = { realmId, resource };
  const { scopes, updatedAt } = await api.operator.resources.get.query(named);
  await api.operator.resources.update.mutate({ ...named, scopes: [...scopesOf(scopes)], updatedAt });
}

/** The scopes of a resource: what users read when an application asks for one, and the sign-in that it needs. */
export function Scopes({ resource }: { readonly resource: Resource }) {
  /** Being edited; null: a new one. */
  const [edited, setEdited] = useState<Scope | null>();
  const remove = ({ name }: Scope) =>
    act(
      change(resource, (now) => now.filter((scope) => scope.name !== name)),
      texts.scopeRemoved(name),
    );
  return (
    <Stack align="flex-start">
      <Text>{texts.scopesLead}</Text>
      {resource.scopes.length > 0 && (
        <PlainTable caption={texts.scopes} headers={HEADERS}>
          {resource.scopes.map((scope) => (
            <Table.Tr key={scope.name}>
              <Table.Td className="foreign">
                <Words {...scope} />
              </Table.Td>
              <Table.Td>
                <Group gap="xs">
                  <Button size="xs" variant="default" onClick={() => setEdited(scope)} aria-label={texts.editOne(scope.name)}>
                    {texts.edit}
                  </Button>
                  <ActButton
                    size="xs"
                    variant="default"
                    question={{ title: texts.removeOne(scope.name), consequences: [texts.scopeRemovedMeans], act: texts.removeScope }}
                    run={() => remove(scope)}
                    aria-label={texts.removeOne(scope.name)}
                  >
                    {texts.removeScope}
                  </ActButton>
                </Group>
              </Table.Td>
            </Table.Tr>
          ))}
        </PlainTable>
      )}
      <Button variant="default" onClick={() => setEdited(null)}>
        {texts.addScope}
      </Button>
      {edited !== undefined && <Edit key={edited?.name} resource={resource} scope={edited} onClose={() => setEdited(undefined)} />}
    </Stack>
  );
}

const Words = ({ name, title, detail, stepUp = {} }: Scope) => (
  <>
    <Text size="sm">{title[LANGUAGE] ?? title[OTHER] ?? texts.noWords}</Text>
    <Text size="xs" c="dimmed">
      {detail[LANGUAGE] ?? detail[OTHER]}
    </Text>
    <Text size="xs" component="div">
      <Code>{name}</Code> {demandOf(stepUp)}
    </Text>
  </>
);

const demandOf = ({ acr, maxAge }: NonNullable<Scope["stepUp"]>): string =>
  [
    ...(acr === undefined ? [] : [T.realms.classes[acr] ?? acr]),
    ...(maxAge === undefined ? [] : [texts.atMost(Math.ceil(maxAge / SECONDS))]),
  ].join(", ");

const fieldsOf = (scope: Scope | null) => ({
  name: scope?.name ?? "",
  titleEn: scope?.title.en ?? "",
  titleDe: scope?.title.de ?? "",
  detailEn: scope?.detail.en ?? "",
  detailDe: scope?.detail.de ?? "",
  acr: scope?.stepUp?.acr ?? "",
  minutes: scope?.stepUp?.maxAge === undefined ? "" : String(scope.stepUp.maxAge / SECONDS),
});
type Fields = ReturnType<typeof fieldsOf>;

const wordsOf = (en: string, de: string) => ({ ...(en.trim() !== "" && { en }), ...(de.trim() !== "" && { de }) });

function scopeOf({ name, titleEn, titleDe, detailEn, detailDe, acr, minutes }: Fields): Scope {
  const stepUp = {
    ...(acr !== "" && { acr: acr as Acr }),
    ...(minutes.trim() !== "" && { maxAge: Math.round(Number(minutes) * SECONDS) }),
  };
  return {
    ...{ name: name.trim(), title: wordsOf(titleEn, titleDe), detail: wordsOf(detailEn, detailDe) },
    ...(Object.keys(stepUp).length > 0 && { stepUp }),
  };
}

interface EditProps {
  readonly resource: Resource;
  readonly scope: Scope | null;
  readonly onClose: () => void;
}

function Edit({ resource, scope, onClose }: EditProps) {
  const [fields, setFields] = useState(fieldsOf(scope));
  /** As it was shown last. */
  const [begun, setBegun] = useState(scope);
  const store = (sent: Scope) =>
    change(resource, (now) => {
      const found = now.find(({ name }) => name === sent.name);
      if (JSON.stringify(found ?? null) !== JSON.stringify(begun)) {
        setBegun(found ?? null);
        throw new ChangedSince(T.failure.changedSince(found === undefined ? T.common.none : (found.title[LANGUAGE] ?? found.name)));
      }
      return found === undefined ? [...now, sent] : now.map((each) => (each === found ? sent : each));
    });
  const text = (member: keyof Fields) => ({
    value: fields[member],
    onChange: ({ currentTarget }: { readonly currentTarget: { readonly value: string } }) =>
      setFields({ ...fields, [member]: currentTarget.value }),
  });
  return (
    <DialogForm
      opened
      onClose={onClose}
      title={scope === null ? texts.addScope : texts.editOne(scope.name)}
      act={texts.saveScope}
      onSubmit={() => act(store(scopeOf(fields)), texts.scopeSaved(fields.name.trim()))}
    >
      {scope === null && <TextInput label={texts.scope} description={texts.scopeDetail} required data-autofocus {...text("name")} />}
      <TextInput label={texts.words.titleEn} description={texts.titleDetail} maxLength={80} {...text("titleEn")} />
      <TextInput label={texts.words.titleDe} maxLength={80} {...text("titleDe")} />
      <TextInput label={texts.words.detailEn} maxLength={300} {...text("detailEn")} />
      <TextInput label={texts.words.detailDe} maxLength={300} {...text("detailDe")} />
      <NativeSelect
        label={texts.needs}
        {...text("acr")}
        data={[...new Set(["", ...CLASSES, fields.acr])].map((value) => ({ value, label: T.realms.classes[value] ?? value }))}
      />
      <TextInput
        label={texts.minutes}
        description={texts.minutesDetail}
        inputMode="numeric"
        pattern="[0-9]+(\.[0-9]+)?"
        {...text("minutes")}
      />
    </DialogForm>
  );
}
