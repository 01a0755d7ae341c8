import { useDebouncedValue } from "@mantine/hooks";
import { Spotlight, type SpotlightActionData } from "@mantine/spotlight";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, useState } from "react";
import { trpc } from "../api/client.ts";
import { useViewer } from "../api/viewer.ts";
import { isDocumentClient } from "../components/client-link.tsx";
import { FailureNote } from "../components/failure.tsx";
import { MOST } from "../components/list-tools.tsx";
import { T } from "../texts/texts.ts";
import { Icon, type IconName } from "./icons.tsx";
import { SCREENS } from "./screens.ts";
import { searchStore } from "./search-store.ts";

/** Milliseconds after the last key before the server is asked. */
const PAUSE = 200;

/** A request id, as errors and `X-Request-Id` have it: of a process, and a count. */
const REQUEST_ID = /^[\w-]{12}-[0-9a-z]+$/;

/** What an id that was pasted leads to: of the document of a client, or of a request. */
function idActions(asked: string, navigate: ReturnType<typeof useNavigate>): SpotlightActionData[] {
  const action = (id: string, label: string, icon: IconName, go: () => unknown): SpotlightActionData => ({
    ...{ id, label, description: asked, leftSection: <Icon name={icon} />, onClick: () => void go() },
  });
  if (isDocumentClient(asked)) {
    return [action("document", T.clients.document.open, "clients", () => navigate({ to: "/clients/document", search: { client: asked } }))];
  }
  if (!REQUEST_ID.test(asked)) return [];
  return [
    action("explain", T.common.explainRequest, "explain", () => navigate({ to: "/explain", search: { request: asked } })),
    action("audit", T.common.recordsOfId, "audit", () => navigate({ to: "/audit", search: { q: asked } })),
  ];
}

/** Results that arrive after the last key have no selection yet: Enter opens the first of them. */
function openFirst({ key, nativeEvent, currentTarget }: KeyboardEvent<HTMLInputElement>): void {
  const dialog = currentTarget.closest("[role=dialog]");
  if (key !== "Enter" || nativeEvent.isComposing || dialog?.querySelector("[data-selected]") !== null) return;
  dialog.querySelector<HTMLElement>("[data-action]")?.click();
}

interface Asked {
  readonly input?: { readonly search?: string };
}

/** For `placeholderData`: what was found for the beginning of a text stays until the rest of the text has been answered. */
const foundForBeginning =
  (asked: string) =>
  <Found,>(found: Found | undefined, before: { readonly queryKey: readonly unknown[] } | undefined): Found | undefined => {
    const beginning = (before?.queryKey[1] as Asked | undefined)?.input?.search;
    return beginning && asked.startsWith(beginning) ? found : undefined;
  };

interface Call {
  readonly error: unknown;
  readonly isFetching: boolean;
}

/** What is said where there is nothing to choose. @param isAsked whether the calls are for what is typed */
function emptinessOf(isAsked: boolean, calls: readonly Call[]) {
  const error = calls.find((call) => call.error)?.error;
  if (error) return <FailureNote error={error} />;
  return isAsked && calls.every(({ isFetching }) => !isFetching) ? T.common.nothingFound : T.common.loading;
}

/** ⌘K: screens by name, clients by name or id, users by address, and what any other id is found in. */
export function Search() {
  const navigate = useNavigate();
  const { isOperator } = useViewer();
  const [text, setText] = useState("");
  const [asked] = useDebouncedValue(text.trim(), PAUSE);
  const placeholderData = foundForBeginning(asked);
  const clients = useQuery({
    ...trpc.operator.clients.list.queryOptions({ search: asked, limit: 5 }, { placeholderData }),
    enabled: isOperator && asked.length > 0,
  });
  const users = useQuery({
    ...trpc.operator.users.list.queryOptions({ search: asked, limit: 5 }, { placeholderData }),
    enabled: isOperator && asked.length > 0,
  });
  const own = useQuery({
    ...trpc.clients.list.queryOptions({ search: asked, limit: 5 }, { placeholderData }),
    enabled: !isOperator && asked.length > 0,
  });
  /** Results for an earlier text stay only as far as they fit what was typed since, so that Enter opens nothing else. */
  const fits = ({ isPlaceholderData }: { readonly isPlaceholderData: boolean }, ...texts: readonly string[]): boolean =>
    (asked === text.trim() && !isPlaceholderData) || texts.some((one) => one.toLowerCase().includes(text.trim().toLowerCase()));
  const foundClients = isOperator ? clients : own;
  const screens = SCREENS.filter(({ operators, label }) => (!operators || isOperator) && label.toLowerCase().includes(text.toLowerCase()));
  const actions: SpotlightActionData[] = [
    ...screens.map(({ to, label, icon }) => ({ id: to, label, leftSection: <Icon name={icon} />, onClick: () => void navigate({ to }) })),
    ...(asked === "" ? [] : (foundClients.data?.clients ?? []))
      .filter(({ name, clientId }) => fits(foundClients, name, clientId))
      .map(({ id, name, clientId }) => ({
        id,
        label: name,
        description: clientId,
        leftSection: <Icon name="clients" />,
        onClick: () => void navigate({ to: "/clients/$id", params: { id } }),
      })),
    ...(asked === "" ? [] : (users.data?.users ?? []))
      .filter(({ email }) => fits(users, email))
      .map(({ id, email }) => ({
        id,
        label: email,
        leftSection: <Icon name="users" />,
        onClick: () => void navigate({ to: "/users/$id", params: { id } }),
      })),
    ...(isOperator ? idActions(asked, navigate) : []),
  ];
  return (
    <Spotlight
      store={searchStore}
      attributes={{ content: { "aria-label": T.common.search } }}
      shortcut={null} // shell.tsx
      query={text}
      onQueryChange={setText}
      actions={actions}
      filter={(_, all) => all}
      nothingFound={emptinessOf(asked === text.trim(), [foundClients, users])}
      highlightQuery
      searchProps={{
        leftSection: <Icon name="search" />,
        placeholder: T.common.searchEverywhere,
        "aria-label": T.common.searchEverywhere,
        maxLength: MOST,
        onKeyDown: openFirst,
      }}
    />
  );
}
