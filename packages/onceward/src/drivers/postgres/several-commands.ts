/** Strings, quoted names, dollar quotes and comments: a semicolon in there ends nothing. */
const opaque =
  /\be'(?:[^'\\]|''|\\[\s\S])*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|(?<![\w$])\$([a-z_]\w*)?\$[\s\S]*?\$\1\$|--[^\n]*|\/\*[\s\S]*?\*\//gi

/** More than one command in a text. In doubt yes: a quote that is not closed, a comment inside a comment. */
export function severalCommands(text: string): boolean {
  if (!text.includes(';')) return false
  const bare = text.replaceAll(opaque, ' ')
  return /;\s*[^\s;]/.test(bare) || /['"]/.test(bare)
}
