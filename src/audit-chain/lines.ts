/** The lines of a file in UTF-8. Only a line feed ends one: JSON may hold the other separators, at which `readline` splits a text. */
export async function* linesOf(file: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder(); // leaves out a byte order mark
  let rest = "";
  for await (const part of file) {
    const lines = (rest + decoder.decode(part, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield line.replace(/\r$/, "");
  }
  rest += decoder.decode();
  if (rest !== "") yield rest;
}
