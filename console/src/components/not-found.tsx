import { Stack, Text, Title } from "@mantine/core";
import { T } from "../texts/texts.ts";

export function NotFound() {
  return (
    <Stack component="main" p="md">
      <Title order={1}>{T.failure.notFoundTitle}</Title>
      <Text>{T.failure.notFound}</Text>
    </Stack>
  );
}
