import { Button, Code, Modal, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import { FailureNote } from "../../components/failure.tsx";
import { T } from "../../texts/texts.ts";

const { audit: texts } = T;
const FILE = "countersign-audit.ndjson";

/** Milliseconds in which the browser has begun to read the file. */
const READ = 60_000;

/** The whole trail as a file, part by part. */
async function exported(): Promise<Blob> {
  const { exportLines } = await import("../../../../src/audit-chain/export.ts");
  const { audit: trail, signingKeys } = api.operator;
  const source = {
    keys: async () => (await signingKeys.list.query()).signingKeys,
    part: (limit: number, after: number) => trail.export.query({ limit, after }),
  };
  const lines: string[] = [];
  for await (const line of exportLines(source, (await trail.chain.query()).start)) lines.push(`${line}\n`);
  return new Blob(lines, { type: "application/x-ndjson" });
}

function save(blob: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = FILE;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), READ);
}

/** Downloads the trail, and says how to verify it without this server. */
export function Export() {
  const { mutate, isPending, isIdle, error, reset } = useMutation({ mutationFn: async () => save(await exported()) });
  return (
    <>
      <Button variant="default" loading={isPending} onClick={() => mutate()}>
        {texts.export}
      </Button>
      <Modal opened={!isIdle && !isPending} onClose={reset} title={error ? texts.export : texts.verifyTitle}>
        {error ? (
          <FailureNote error={error} />
        ) : (
          <Stack>
            <Text>{texts.verifyText}</Text>
            <Code block>{`npx countersign audit verify ${FILE}`}</Code>
            <Text size="sm">{texts.verifyTrust}</Text>
          </Stack>
        )}
      </Modal>
    </>
  );
}
