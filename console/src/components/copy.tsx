import { Button, Code, Group, Stack, Text } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";
import { useEffect } from "react";
import { T } from "../texts/texts.ts";
import { UNCOPIED, uncopied } from "../uncopied.ts";

const noteCopy = (copied: string): void => {
  for (const secret of uncopied()) if (copied.includes(secret.textContent)) secret.removeAttribute(UNCOPIED);
};
addEventListener("copy", () => noteCopy(String(getSelection())));
addEventListener("beforeunload", (event) => {
  if (uncopied().length > 0) event.preventDefault(); // the browser asks
});

interface CopyProps {
  readonly label: string;
  readonly text: string;
}

/** A text to copy, in the type of code. @param isSecret shown this once */
export const CopyBlock = ({ label, text, isSecret = false }: CopyProps & { readonly isSecret?: boolean }) => (
  <Stack gap={4} w="100%">
    <Group justify="space-between">
      <Text size="sm" fw={600}>
        {label}
      </Text>
      <CopyText label={label} text={text} />
    </Group>
    <Code key={text} block tabIndex={0} role="region" aria-label={label} {...(isSecret && { [UNCOPIED]: "" })}>
      {text}
    </Code>
  </Stack>
);

function CopyText({ label, text }: CopyProps) {
  const { copy, copied, error } = useClipboard();
  useEffect(() => {
    if (copied) noteCopy(text);
  }, [copied, text]);
  return (
    <Group gap="xs">
      <Text role="status" className={error ? "" : "visually-hidden"}>
        {error ? T.common.notCopied : copied && T.common.copied}
      </Text>
      <Button size="compact-sm" variant="default" onClick={() => copy(text)} aria-label={`${T.common.copy}: ${label}`}>
        {copied ? T.common.copied : T.common.copy}
      </Button>
    </Group>
  );
}
