import type { SourceDeclaration } from './contract.ts'

const logs: ReadonlySet<string> = new Set(['kafka', 'rabbitmq-stream', 'file'])

/** What is read stays where it is, and a position says how far the reader has come. */
export function readsLog({ source }: { readonly source: SourceDeclaration }): boolean {
  return logs.has(source.kind)
}
