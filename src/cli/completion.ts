import type { Command } from "commander";

export type Shell = "bash" | "zsh" | "fish";

/** A command by its path below the program, and the words that may follow it. */
interface Node {
  readonly path: string;
  /** Whether only a command can follow, and no file. */
  readonly group: boolean;
  readonly words: readonly { readonly word: string; readonly description: string }[];
}

/** Every command of a program, the program itself first. */
function nodesOf(command: Command, path = ""): readonly Node[] {
  const named = command.commands.map((sub) => ({ word: sub.name(), description: sub.description() }));
  const options = command.options.map(({ long, short, description }) => ({ word: long ?? short ?? "", description }));
  const below = command.commands.flatMap((sub) => nodesOf(sub, path === "" ? sub.name() : `${path} ${sub.name()}`));
  return [{ path, group: named.length > 0, words: [...named, ...options, { word: "--help", description: "display help" }] }, ...below];
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** A script that completes the commands and options of a program, without running it. Pure. */
export function completionScript(program: Command, shell: Shell): string {
  const nodes = nodesOf(program);
  return shell === "fish" ? fishScript(nodes) : posixScript(nodes, shell);
}

/** bash and zsh find the command that stands on the line by its words, and offer what may follow it. */
function posixScript(nodes: readonly Node[], shell: "bash" | "zsh"): string {
  const paths = nodes.flatMap(({ path }) => (path === "" ? [] : [quoted(path)])).join("|");
  const cases = nodes.map(({ path, words }) => `    ${quoted(path)}) offered=${quoted(words.map(({ word }) => word).join(" "))} ;;`);
  const [before, offer] =
    shell === "bash"
      ? [`\${COMP_WORDS[@]:1:COMP_CWORD-1}`, `COMPREPLY=($(compgen -W "$offered" -- "\${COMP_WORDS[COMP_CWORD]}"))`]
      : [`\${(@)words[2,CURRENT-1]}`, `compadd -- \${=offered}`];
  return `_countersign() {
  local found="" word offered=""
  for word in "${before}"; do
    case "\${found:+$found }$word" in
      ${paths}) found="\${found:+$found }$word" ;;
    esac
  done
  case "$found" in
${cases.join("\n")}
  esac
  ${offer}
}
${shell === "bash" ? "complete -o default -F _countersign countersign" : "compdef _countersign countersign"}
`;
}

function fishScript(nodes: readonly Node[]): string {
  const paths = nodes.flatMap(({ path }) => (path === "" ? [] : [quoted(path)])).join(" ");
  const lines = nodes.flatMap(({ path, group, words }) =>
    words.map(({ word, description }) => {
      const condition = quoted(`test "$(__countersign_found)" = "${path}"`);
      return `complete -c countersign${group ? " -f" : ""} -n ${condition} -a ${quoted(word)} -d ${fishText(description)}`;
    }),
  );
  return `function __countersign_found
  set -l typed (commandline -opc)
  set -e typed[1]
  set -l found
  for word in $typed
    if contains -- (string join ' ' $found $word) ${paths}
      set found $found $word
    end
  end
  string join ' ' $found
end
${lines.join("\n")}
`;
}

/** fish reads a backslash before a quote within single quotes. */
const fishText = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
