/** `a, b or c`. */
export function inWords(names: readonly string[], last: 'and' | 'or'): string {
  const before = names.slice(0, -1).join(', ')
  return before === '' ? (names[0] ?? '') : `${before} ${last} ${names.at(-1)}`
}
