import { NativeSelect, Switch } from "@mantine/core";
import { oneOf } from "../../components/list-search.ts";
import { T } from "../../texts/texts.ts";
import { AGENT_MODES, type AgentMode } from "./kinds.ts";

const { settings: texts } = T.clients;

export interface AgentSettings {
  readonly isAgent: boolean;
  readonly maxAgentMode: AgentMode | null;
}

/** Whether it acts for users, and which of the agent scopes it may have. */
export const AgentFields = ({
  isAgent,
  maxAgentMode,
  onChange,
}: AgentSettings & { readonly onChange: (settings: AgentSettings) => void }) => (
  <>
    <Switch
      label={texts.isAgent}
      description={texts.isAgentDetail}
      checked={isAgent}
      onChange={({ currentTarget }) => onChange({ isAgent: currentTarget.checked, maxAgentMode })}
    />
    {isAgent && <AgentModeSelect value={maxAgentMode} onChange={(mode) => onChange({ isAgent, maxAgentMode: mode })} />}
  </>
);

interface AgentModeSelectProps {
  readonly value: AgentMode | null;
  readonly onChange: (mode: AgentMode | null) => void;
}

export const AgentModeSelect = ({ value, onChange }: AgentModeSelectProps) => (
  <NativeSelect
    label={T.agents.mode}
    description={T.agents.modeMeans[value ?? "none"]}
    value={value ?? ""}
    onChange={({ currentTarget }) => onChange(oneOf(AGENT_MODES, currentTarget.value) ?? null)}
    data={[
      { value: "", label: T.agents.modes.none ?? "" },
      ...AGENT_MODES.map((mode) => ({ value: mode, label: T.agents.modes[mode] ?? mode })),
    ]}
  />
);
