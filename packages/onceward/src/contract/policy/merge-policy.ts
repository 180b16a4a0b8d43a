import { isDeepStrictEqual } from 'node:util'
import { isRecord } from '../check-values.ts'
import { durationMs } from '../duration.ts'
import { find, put } from './contract-path.ts'
import type { Refuse } from './problem.ts'
import { emptyLayer, type GivenValue, type Layer } from './read-layer.ts'
import type { Policies } from './read-policy.ts'

type Contract = Readonly<Record<string, unknown>>

/**
 * The contract with what the file says of it. What the TypeScript contract and the file's consumer both say
 * must be the same; a source's and everybody's defaults fill in what is still open, the source's first.
 */
export function mergePolicy(
  contract: Contract,
  { defaults, sources, consumers }: Policies,
  refuse: Refuse,
): { readonly merged: Contract; readonly from: ReadonlyMap<string, GivenValue> } {
  const from = new Map<string, GivenValue>()
  let merged = normalised(contract)
  const set = (given: GivenValue, path: readonly string[]) => {
    merged = put(merged, path, given.value) as Contract
    from.set(path.join('.'), given)
  }
  const own = consumers.get(String(contract.name)) ?? emptyLayer
  for (const { given, path } of told(own)) {
    const found = find(merged, path)
    if (found.is === 'free') set(given, path)
    else if (found.is === 'blocked' || !sameValue(found.value, given))
      refuse(
        given.at,
        given.filePath,
        'is said differently by the contract in TypeScript: say it in one of the two',
      )
  }
  for (const layer of [sources.get(sourceName(contract) ?? '') ?? emptyLayer, defaults]) {
    const before = merged
    for (const { given, path } of told(layer)) if (mayFill(before, path)) set(given, path)
  }
  return { merged, from }
}

function told({ values }: Layer): { readonly given: GivenValue; readonly path: readonly string[] }[] {
  return values.flatMap(given => (given.path === null ? [] : [{ given, path: given.path }]))
}

function mayFill(contract: Contract, path: readonly string[]): boolean {
  if (find(contract, path).is !== 'free') return false
  // Without a retention section nothing is ever removed, and saying how long a source keeps must not be what
  // begins it.
  return path.join('.') !== 'retention.sourceKeeps' || contract.retention !== undefined
}

/** A value of a contract in the form the file's values have. */
function sameValue(inContract: unknown, { key, value }: GivenValue): boolean {
  const comparable = key.kind === 'duration' ? durationMs(inContract) : inContract
  return isDeepStrictEqual(comparable, value)
}

/** A contract may name the dead-letter queue alone. */
function normalised(contract: Contract): Contract {
  const deadLetter = isRecord(contract.failure) ? contract.failure.deadLetter : undefined
  return typeof deadLetter === 'string'
    ? (put(contract, ['failure', 'deadLetter'], { to: deadLetter }) as Contract)
    : contract
}

/** The name people know a source by. */
export function sourceName({ source }: { readonly source?: unknown }): string | null {
  if (!isRecord(source)) return null
  const name = source.queue ?? source.topic ?? source.stream ?? source.pattern
  return typeof name === 'string' ? name : null
}
