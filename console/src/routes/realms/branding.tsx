import { Button, FileInput, Group, NativeSelect, Skeleton, Stack, Text, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useMutation, useQuery } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { ChangedSince, changesTo, sendChanges, useEdits } from "../../api/changes.ts";
import { api, type ManagementInputs } from "../../api/client.ts";
import { FailureNote } from "../../components/failure.tsx";
import { Form, FormEnd } from "../../components/form.tsx";
import { LANGUAGE, STYLE_NONCE } from "../../environment.ts";
import { T } from "../../texts/texts.ts";
import { type RealmRecord, refreshRealms } from "./record.ts";

const { realms: texts } = T;

type Change = ManagementInputs["operator"]["realms"]["setBranding"]["branding"];

const MEMBERS = ["name", "accent", "support", "termsUrl", "privacyUrl"] as const;
type Member = (typeof MEMBERS)[number];
/** Milliseconds after the last key before the preview follows. */
const PAUSE = 400;

const fieldsOf = (branding: { readonly [Name in Member]?: string }) =>
  Object.fromEntries(MEMBERS.map((member) => [member, branding[member] ?? ""])) as Record<Member, string>;

/** An empty member is left to the deployment. @param logo null removes it, undefined keeps it */
const changeOf = (fields: Readonly<Record<Member, string>>, logo: string | null | undefined): Change => ({
  ...Object.fromEntries(MEMBERS.map((member) => [member, fields[member].trim() || null])),
  ...(logo !== undefined && { logo }),
});

/** What is to be made of the logo. */
interface Logo {
  /** What it was when that began. */
  readonly from: string | null;
  /** Null removes it; undefined while a file is read. */
  readonly to: string | null | undefined;
}

const base64Of = (file: File): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ""));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });

/** What a realm shows its users, beside the pages that it makes. */
export function BrandingForm({ realm: { id, branding, inherited } }: { readonly realm: RealmRecord }) {
  const { fields, text, assertUnchanged, settle: settleFields } = useEdits(fieldsOf(branding));
  const [logo, setLogo] = useState<Logo>();
  const [isUnreadable, setUnreadable] = useState(false);
  const [file, setFile] = useState<File | null>(null);
  /** What was chosen last: a larger file is read for longer than a later one. */
  const chosen = useRef<File>(null);
  const saving = useMutation({
    mutationFn: async (sent: { readonly fields: typeof fields; readonly logo: typeof logo }) => {
      const { branding: now } = await api.operator.realms.get.query({ id }); // others may have changed it since the screen was read
      assertUnchanged(sent.fields, fieldsOf(now));
      if (sent.logo !== undefined && now.logoData !== sent.logo.from && now.logoData !== sent.logo.to) {
        setLogo((since) => since && { ...since, from: now.logoData });
        throw new ChangedSince(T.failure.changedSince(now.logoData === null ? T.common.none : texts.otherLogo));
      }
      await sendChanges(changesTo(changeOf(fieldsOf(branding), undefined), changeOf(sent.fields, sent.logo?.to)), (changes) =>
        api.operator.realms.setBranding.mutate({ id, branding: changes }),
      );
    },
    onSuccess: async (_, sent) => {
      settleFields(sent.fields);
      await refreshRealms();
      // Another logo may have been chosen while this one was sent, and replaces it.
      setLogo((since) =>
        since === sent.logo ? undefined : since && { ...since, from: sent.logo?.to === undefined ? since.from : sent.logo.to },
      );
    },
  });
  const settle = (to: Logo["to"], from: File | null): void => {
    chosen.current = from;
    setFile(from);
    setUnreadable(false);
    setLogo((before) => ({ from: before === undefined ? branding.logoData : before.from, to }));
  };
  const choose = async (next: File | null): Promise<void> => {
    settle(undefined, next);
    const to = next === null ? undefined : await base64Of(next).catch(() => undefined);
    if (chosen.current !== next) return;
    setUnreadable(next !== null && to === undefined);
    setLogo((since) => (to === undefined ? undefined : since && { ...since, to }));
  };
  /** Without it, nothing is saved. */
  const isReading = logo !== undefined && logo.to === undefined;
  const hasLogo = logo?.to === undefined ? branding.logo !== null : logo.to !== null;
  return (
    <Group align="start" gap="xl">
      <Form onSubmit={() => saving.mutate({ fields, logo })}>
        <Stack w="20rem" maw="100%">
          {MEMBERS.map((member) => (
            <TextInput key={member} label={texts.members[member]} placeholder={inherited[member] ?? ""} {...text(member)} />
          ))}
          <FileInput
            label={texts.logo}
            description={texts.logoDetail}
            accept="image/svg+xml,image/png"
            placeholder={hasLogo ? texts.hasLogo : texts.noLogo}
            value={file}
            onChange={(next) => void choose(next)}
            error={isUnreadable && texts.unreadableLogo}
          />
          {hasLogo && (
            <Button variant="subtle" onClick={() => settle(null, null)}>
              {texts.removeLogo}
            </Button>
          )}
          <Text size="sm" c="dimmed">
            {texts.brandingDetail}
          </Text>
          <FormEnd of={{ error: saving.error, isPending: saving.isPending || isReading }} act={texts.saveBranding} />
        </Stack>
      </Form>
      <Preview id={id} change={changeOf(fields, logo?.to)} />
    </Group>
  );
}

/** The pages as the branding would make them. The frame runs no script and reaches nothing. */
function Preview({ id, change }: { readonly id: string; readonly change: Change }) {
  const [shown, setShown] = useState("consent");
  const [branding] = useDebouncedValue(JSON.stringify(change), PAUSE);
  const { data, error } = useQuery({
    queryKey: ["branding preview", id, branding],
    queryFn: ({ signal }) =>
      api.operator.realms.previewBranding.mutate(
        { id, branding: JSON.parse(branding) as Change, language: LANGUAGE, nonce: STYLE_NONCE },
        { signal },
      ),
    placeholderData: keepPreviousData,
  });
  const pages = data?.pages ?? [];
  const page = pages.find(({ name }) => name === shown);
  return (
    <Stack maw="100%">
      <NativeSelect
        label={texts.preview}
        value={shown}
        onChange={({ currentTarget }) => setShown(currentTarget.value)}
        data={pages.map(({ name }) => ({ value: name, label: texts.pages[name] ?? name }))}
      />
      {error && <FailureNote error={error} />}
      {page && <iframe className="phone" title={texts.preview} sandbox="" srcDoc={page.html} />}
      {!page && !error && <Skeleton className="phone" />}
    </Stack>
  );
}
