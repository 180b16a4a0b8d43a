/** Any text as one word of a shell. */
export function shell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** Differences that a person accepts for a swap; the server refuses it with the others. */
export interface Accepted {
  readonly acceptMissing: boolean
  readonly acceptUnknown: boolean
  /** Tables whose rows may differ. */
  readonly accept: readonly string[]
}

/** Options of `onceward replay swap` for what is accepted. */
export function swapFlags({ acceptMissing, acceptUnknown, accept }: Accepted): string {
  const flags = [
    ...(acceptMissing ? ['--accept-missing'] : []),
    ...(acceptUnknown ? ['--accept-unknown'] : []),
    ...accept.map(table => `--accept ${shell(table)}`),
  ]
  return flags.map(flag => ` ${flag}`).join('')
}
