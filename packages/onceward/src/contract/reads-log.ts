import type { SourceDeclaration } from './contract.ts'

const logs: ReadonlySet<string> = new Set(['kafka', 'rabbitmq-stream', 'file'])

/** True for a log: reading removes nothing, and a position records how far the reader has read. */
export function readsLog({ source }: { readonly source: SourceDeclaration }): boolean {
  return logs.has(source.kind)
}
