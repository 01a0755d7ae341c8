/** A note of one user. */
export interface Note {
  readonly owner: string;
  readonly text: string;
}

/** Notes in memory, at most so many in all; the oldest make room. */
export function notebook(capacity = 1000) {
  const notes: Note[] = [];
  return {
    of: (owner: string) => notes.filter((note) => note.owner === owner).map((note) => note.text),
    add(owner: string, text: string) {
      notes.push({ owner, text });
      notes.splice(0, notes.length - capacity);
    },
    clear(owner: string) {
      notes.splice(0, notes.length, ...notes.filter((note) => note.owner !== owner));
    },
  };
}

export type Notebook = ReturnType<typeof notebook>;
