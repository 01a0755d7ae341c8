import { NativeSelect, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { api } from "../../api/client.ts";
import { act } from "../../components/act.tsx";
import { DialogForm } from "../../components/dialog-form.tsx";
import { oneOf } from "../../components/list-search.ts";
import { LANGUAGE } from "../../environment.ts";
import { T } from "../../texts/texts.ts";

const { users: texts } = T;
const ROLES = ["user", "developer", "operator"] as const;

/** Asks whom to invite, and as what. */
export function Invite({ opened, onClose }: { readonly opened: boolean; readonly onClose: () => void }) {
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<string>("user");
  const send = async (): Promise<boolean> => {
    const invitation = { email: email.trim(), role: oneOf(ROLES, role), language: LANGUAGE } as const;
    const isSent = await act(api.operator.users.invite.mutate(invitation), texts.invited(invitation.email));
    if (isSent) setEmail((typed) => (typed === email ? "" : typed));
    return isSent;
  };
  return (
    <DialogForm opened={opened} onClose={onClose} title={texts.invite} act={texts.sendInvitation} onSubmit={send}>
      <Text>{texts.inviteText}</Text>
      <TextInput
        type="email"
        required
        label={texts.email}
        value={email}
        onChange={({ currentTarget }) => setEmail(currentTarget.value)}
        data-autofocus
      />
      <NativeSelect
        label={texts.role}
        value={role}
        onChange={({ currentTarget }) => setRole(currentTarget.value)}
        data={ROLES.map((value) => ({ value, label: texts.roles[value] }))}
      />
    </DialogForm>
  );
}
