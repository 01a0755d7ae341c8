import { Alert, Anchor, Button, Code, Group, Stack, Table, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { type ManagementOutputs, trpc } from "../../api/client.ts";
import { failureOf } from "../../api/failure.ts";
import { FailureNote } from "../../components/failure.tsx";
import { Form } from "../../components/form.tsx";
import type { ListSearch } from "../../components/list-search.ts";
import { PageHead } from "../../components/page-head.tsx";
import { PlainTable } from "../../components/plain-table.tsx";
import { shownMoment, T } from "../../texts/texts.ts";
import { Records } from "../audit/records.tsx";

type Explanation = ManagementOutputs["operator"]["explain"]["refusal"];
type Rule = Explanation["rules"][number];

const { explain: texts } = T;
const MARKS: Readonly<Record<Rule["verdict"], string>> = { passed: "✓", refused: "✗", not_reached: "–", taken_for_granted: "○" };

/** A grant type without the URN that all extensions share. */
const nameOfGrant = (grantType: string): string => grantType.replace("urn:ietf:params:oauth:grant-type:", "");

/** Why a request was refused: its rules, in the order of evaluation. */
export function Explain() {
  const { request }: ListSearch<"request"> = useSearch({ from: "/frame/explain" });
  const navigate = useNavigate({ from: "/explain" });
  const [text, setText] = useState(request ?? "");
  useEffect(() => setText(request ?? ""), [request]);
  return (
    <Stack>
      <PageHead title={texts.title} detail={texts.text} />
      <Form onSubmit={() => navigate({ search: { request: text.trim() } })}>
        <Group align="end" maw="40rem">
          <TextInput
            label={T.common.requestId}
            placeholder="XZgGXDYbVJPp-4"
            required
            value={text}
            onChange={({ currentTarget }) => setText(currentTarget.value)}
            flex="1 1 14rem"
          />
          <Button type="submit">{texts.act}</Button>
        </Group>
      </Form>
      {request !== undefined && <Answer requestId={request} />}
    </Stack>
  );
}

function Answer({ requestId }: { readonly requestId: string }) {
  const { data, error, refetch } = useQuery(trpc.operator.explain.refusal.queryOptions({ requestId }));
  if (error && failureOf(error).code === "not_found") return <Unknown requestId={requestId} />;
  if (error) return <FailureNote error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Text role="status">{T.common.loading}</Text>;
  const refused = data.rules.find(({ verdict }) => verdict === "refused");
  const clientId = data.refused?.clientId;
  return (
    <Stack>
      {data.refused !== undefined && (
        <Text className="foreign">
          {texts.refusedAt(data.refused.clientId, nameOfGrant(data.refused.grantType), shownMoment(data.refused.at))}
        </Text>
      )}
      {refused !== undefined && (
        <Alert color="red" title={texts.refusedBy(refused.rule)}>
          <Text lang="en">{refused.demand}</Text>
          <Text>
            <Code>{[refused.error, refused.reason].filter((word) => word !== undefined).join(", ")}</Code>
          </Text>
          <RemedyLink rule={refused.rule} clientId={clientId} />
        </Alert>
      )}
      <Rules rules={data.rules} clientId={clientId} />
      <Anchor component={Link} to="/audit" search={{ requestId } as never} size="sm">
        {texts.records}
      </Anchor>
    </Stack>
  );
}

/** A request that was no refusal of a token: what the audit log has of it. */
const Unknown = ({ requestId }: { readonly requestId: string }) => (
  <Stack>
    <Alert color="blue" title={texts.unknownTitle} maw="60rem">
      <Text>{texts.unknown}</Text>
    </Alert>
    <Records caption={texts.records} filter={{ requestId }} empty={texts.noRecords} />
  </Stack>
);

const HEADERS = [{ text: texts.verdict }, { text: texts.rule }, { text: texts.source, low: true }, { text: texts.change, low: true }];

export const Rules = ({ rules, clientId }: { readonly rules: readonly Rule[]; readonly clientId: string | undefined }) => (
  <PlainTable caption={texts.rules} headers={HEADERS}>
    {rules.map(({ rule, demand, source, verdict }) => (
      <Table.Tr key={rule} className={`verdict-${verdict}`}>
        <Table.Td className="tight">
          <span aria-hidden="true">{MARKS[verdict]} </span>
          {texts.verdicts[verdict]}
        </Table.Td>
        <Table.Td className="foreign">
          <Code>{rule}</Code>
          <Text lang="en">{demand}</Text>
        </Table.Td>
        <Table.Td className="low">{source}</Table.Td>
        <Table.Td className="low">
          <RemedyLink rule={rule} clientId={clientId} />
        </Table.Td>
      </Table.Tr>
    ))}
  </PlainTable>
);

/** Leads to where what a rule evaluates is set. */
function RemedyLink({ rule, clientId }: { readonly rule: string; readonly clientId: string | undefined }) {
  const remedy = remedyOf(rule);
  if (remedy === undefined) return null;
  const search = (remedy === "client" || remedy === "agent") && clientId !== undefined ? { q: clientId } : {};
  const to = { client: "/clients", agent: "/agents", users: "/users", resources: "/resources", settings: "/settings" }[remedy];
  return (
    <Anchor component={Link} to={to as never} search={search as never} size="sm">
      {texts.remedies[remedy]}
    </Anchor>
  );
}

/** The screen on which what a rule evaluates can be changed. */
type Remedy = "client" | "agent" | "users" | "resources" | "settings";

const SCREENS: Readonly<Record<Remedy, readonly string[]>> = {
  client: [
    ..."client_known client_enabled client_proven method_registered confidential_client grant_held redirect_uri scope agent".split(" "),
    ..."dpop_required request_pushed agent_mode scope_known".split(" "),
  ],
  agent: ["agent_not_paused", "chain_length"],
  users: ["user_enabled", "subject_user_enabled", "subject_signed_in"],
  resources: ["resource", "target"],
  settings: ["grant_served", "other_issuer"],
};

const BY_RULE = new Map(Object.entries(SCREENS).flatMap(([remedy, rules]) => rules.map((rule) => [rule, remedy as Remedy])));

/** Undefined where only the request itself can be changed. Pure. */
const remedyOf = (rule: string): Remedy | undefined => BY_RULE.get(rule);
