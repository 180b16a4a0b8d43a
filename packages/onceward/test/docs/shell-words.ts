/**
 * The commands of a shell block: continued lines joined, comments and variable assignments left out, each
 * split into words.
 */
export function commandsOf(code: string): string[][] {
  const lines = code.replaceAll(/\\\n\s*/g, ' ').split('\n')
  return lines.flatMap(line => simpleCommands(wordsOf(line)))
}

/**
 * Words as a shell sees them, operators as words of their own. `<like this>` stands for something the reader
 * puts in.
 */
function wordsOf(line: string): string[] {
  const word = /(?:<[a-z][a-z -]*>|"(?:[^"\\]|\\.)*"|'[^']*'|\$\([^)]*\)|\\.|[^\s"'|&;<>#\\]|(?<=\S)#)+/
  const tokens = new RegExp(`#.*$|&&|\\|\\||[|&;]|[0-9]?>>?(?:&[0-9])?|${word.source}`, 'g')
  return [...line.matchAll(tokens)].map(([token]) => token).filter(token => !token.startsWith('#'))
}

function simpleCommands(words: readonly string[]): string[][] {
  const commands: string[][] = [[]]
  for (const [at, word] of words.entries()) {
    if (/^(&&|\|\||[|&;])$/.test(word)) commands.push([])
    else if (!/^[0-9]?>/.test(word) && !/^[0-9]?>>?$/.test(words[at - 1] ?? '')) commands.at(-1)!.push(word)
  }
  return commands
    .map(command => command.slice(command.findIndex(one => !/^[A-Z_]+=/.test(one))).map(unquoted))
    .filter(command => command.length > 0 && !/^[A-Z_]+=/.test(command[0]!))
}

function unquoted(word: string): string {
  return word.replaceAll(/"((?:[^"\\]|\\.)*)"|'([^']*)'/g, (_, double, single) => double ?? single)
}
