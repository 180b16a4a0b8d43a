import type { SourceDeclaration } from '../contract/contract.ts'

/** The configured cluster name belongs to the configured address. */
export function clusterOf(
  declaration: SourceDeclaration,
  address: 'url' | 'bootstrap',
  given: string | undefined,
): string | undefined {
  const declared = declaration as SourceDeclaration & { cluster?: string; url?: string; bootstrap?: string }
  return declared.cluster ?? (declared[address] === undefined ? given : undefined)
}
