/** Strings, quoted names, dollar quotes and comments: a semicolon inside them ends no command. */
const opaque =
  /\be'(?:[^'\\]|''|\\[\s\S])*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|(?<![\w$])\$([a-z_]\w*)?\$[\s\S]*?\$\1\$|--[^\n]*|\/\*[\s\S]*?\*\//gi

/**
 * Whether a text has more than one command. Unclear cases count as true: an unclosed quote, a nested comment.
 */
export function severalCommands(text: string): boolean {
  if (!text.includes(';')) return false
  const bare = text.replaceAll(opaque, ' ')
  return /;\s*[^\s;]/.test(bare) || /['"]/.test(bare)
}
