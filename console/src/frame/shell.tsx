import {
  ActionIcon,
  AppShell,
  Badge,
  Burger,
  Button,
  Divider,
  Group,
  Kbd,
  Menu,
  NavLink,
  ScrollArea,
  Skeleton,
  Text,
  useMantineColorScheme,
} from "@mantine/core";
import { useDisclosure, useHotkeys } from "@mantine/hooks";
import { Link, Outlet, useMatches } from "@tanstack/react-router";
import { Fragment } from "react";
import { useViewer } from "../api/viewer.ts";
import { signOut } from "../auth/session.ts";
import { showFailure } from "../components/act.tsx";
import { FailureNote } from "../components/failure.tsx";
import { PageHead } from "../components/page-head.tsx";
import { BASE, ENVIRONMENT } from "../environment.ts";
import { T } from "../texts/texts.ts";
import { Icon } from "./icons.tsx";
import { SCREENS, screenOf } from "./screens.ts";
import { Search } from "./search.tsx";
import { openSearch } from "./search-store.ts";

/** Whose keyboards have a command key. */
const IS_APPLE = /Mac|iPhone|iPad/.test(navigator.userAgent);

/** Rail, header and search around every screen. */
export function Shell() {
  const [isOpen, { toggle, close }] = useDisclosure(false);
  useHotkeys([
    ["mod+K", openSearch],
    ["/", openSearch],
    ["shift+/", openSearch], // where / is on the key 7, as in German
  ]);
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 220, breakpoint: "sm", collapsed: { mobile: !isOpen } }}
      padding="md"
      transitionDuration={0}
    >
      <a href="#content" className="skip">
        {T.common.skip}
      </a>
      <AppShell.Header>
        <Group h="100%" px="md" wrap="nowrap" justify="space-between">
          <Group gap="sm" wrap="nowrap">
            <Burger opened={isOpen} onClick={toggle} hiddenFrom="sm" size="sm" aria-label={T.common.menu} aria-expanded={isOpen} />
            <Text fw={700} size="md" visibleFrom="xs" component={Link} to="/" className="brand">
              Countersign
            </Text>
            <EnvironmentBadge />
          </Group>
          <Tools />
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label={T.common.navigation} className={isOpen ? "" : "closed"}>
        <Rail onChoose={close} />
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1}>
        <div className="screen">
          <Content />
        </div>
      </AppShell.Main>
      <Search />
    </AppShell>
  );
}

/** The screen. What it shows depends on the viewer, so without one it would stay empty. */
function Content() {
  const { isKnown, isOperator, error, refetch } = useViewer();
  const pattern = useMatches({ select: (matches) => matches.at(-1)?.fullPath });
  if (!isKnown && error) return <FailureNote error={error} retry={() => void refetch()} />;
  const { label = "", operators } = screenOf(pattern ?? "") ?? {};
  if (operators === undefined || isOperator) return <Outlet />;
  return isKnown ? <PageHead title={label} detail={operators} /> : <Skeleton height={320} />;
}

function Rail({ onChoose }: { readonly onChoose: () => void }) {
  const { isOperator } = useViewer();
  return (
    <ScrollArea>
      {SCREENS.filter(({ operators }) => !operators || isOperator).map(({ to, label, icon, begins }) => (
        <Fragment key={to}>
          {begins && <Divider className="rail-divider" />}
          <NavLink
            component={Link}
            to={to}
            activeOptions={{ exact: to === "/", includeSearch: false }}
            className="rail-link"
            label={label}
            leftSection={<Icon name={icon} />}
            onClick={onChoose}
          />
        </Fragment>
      ))}
    </ScrollArea>
  );
}

function EnvironmentBadge() {
  const colour = ENVIRONMENT === "production" ? "red" : "teal";
  return (
    <Badge variant="outline" color={colour}>
      {T.common.environment[ENVIRONMENT] ?? ENVIRONMENT}
    </Badge>
  );
}

function Tools() {
  const { toggleColorScheme } = useMantineColorScheme();
  return (
    <Group gap="xs" wrap="nowrap">
      <Button
        variant="default"
        size="xs"
        leftSection={<Icon name="search" size={14} />}
        rightSection={<Kbd size="xs">{IS_APPLE ? "⌘K" : T.common.searchKeys}</Kbd>}
        onClick={openSearch}
        visibleFrom="sm"
      >
        {T.common.search}
      </Button>
      <ActionIcon variant="default" size="md" onClick={openSearch} aria-label={T.common.search} hiddenFrom="sm">
        <Icon name="search" />
      </ActionIcon>
      <ActionIcon variant="default" size="md" onClick={() => toggleColorScheme()} aria-label={T.common.theme}>
        <Icon name="theme" />
      </ActionIcon>
      <AccountMenu />
    </Group>
  );
}

function AccountMenu() {
  const { email } = useViewer();
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="default" size="md" aria-label={T.common.account}>
          <Icon name="users" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label className="foreign">{email}</Menu.Label>
        <Menu.Item component="a" href={`${BASE}/account`}>
          {T.common.account}
        </Menu.Item>
        <Menu.Item onClick={() => void signOut().catch(showFailure)}>{T.common.signOut}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
