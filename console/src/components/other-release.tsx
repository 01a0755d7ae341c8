import { Alert, Button, Code, Group, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { isOfOtherRelease } from "../api/release.ts";
import { T } from "../texts/texts.ts";

const Reload = () => (
  <Button size="xs" variant="default" onClick={() => location.reload()}>
    {T.failure.reload}
  </Button>
);

/** Beside a refusal that may come from there: the server has another release than this page. */
export function OtherRelease() {
  const { data: isOther } = useQuery({ queryKey: ["release"], queryFn: () => isOfOtherRelease().catch(() => false) });
  return (
    isOther && (
      <Group mt="sm" gap="md">
        <Text>{T.failure.otherRelease}</Text>
        <Reload />
      </Group>
    )
  );
}

/** In place of a screen that failed, as over an answer of another release. What failed is there for a report. */
export const BrokenScreen = ({ error }: { readonly error: unknown }) => (
  <Alert color="red" role="alert" title={T.failure.title} maw="60rem">
    <Text mb="sm">{T.failure.broken}</Text>
    <Code block mb="sm" lang="en">
      {String(error).slice(0, 500)}
    </Code>
    <Reload />
  </Alert>
);
