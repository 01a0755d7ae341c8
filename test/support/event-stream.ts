/** An event of a stream, as its lines say. */
export interface StreamEvent {
  readonly event: string;
  readonly id: string | undefined;
  readonly data: string;
}

function eventOf(block: string): StreamEvent {
  const fields = new Map(block.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]));
  return { event: fields.get("event") ?? "message", id: fields.get("id"), data: fields.get("data") ?? "" };
}

/** The events of a response, as they arrive. Leaving the loop closes the connection. */
export async function* eventsOf(response: Response): AsyncGenerator<StreamEvent, void> {
  let text = "";
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    const blocks = text.split(/\n{2,}/);
    text = blocks.pop() ?? "";
    for (const block of blocks) if (block.trim() !== "") yield eventOf(block.trim());
  }
}

/** The next event of a kind; others are passed over. @throws when the stream ends before it */
export async function nextEvent(events: AsyncGenerator<StreamEvent, void>, kind = "message"): Promise<StreamEvent> {
  for (;;) {
    const { value } = await events.next();
    if (value === undefined) throw new Error(`the stream ended before an event of the kind ${kind}`);
    if (value.event === kind) return value;
  }
}
