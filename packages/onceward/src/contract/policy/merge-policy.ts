import { isDeepStrictEqual } from 'node:util'
import { isRecord } from '../check-values.ts'
import { durationMs } from '../duration.ts'
import { find, put } from './contract-path.ts'
import type { Refuse } from './problem.ts'
import { emptyLayer, type GivenValue, type Layer } from './read-layer.ts'
import type { Policies } from './read-policy.ts'

type Contract = Readonly<Record<string, unknown>>

/**
 * The contract with the values of the file. A value that both the TypeScript contract and the file's consumer
 * set must be equal. Defaults fill in what is still unset: first those of the source, then the general ones.
 * Of a transform, `applies` is false for options that need a store: its own entry must not have them, and
 * defaults for all consumers skip it.
 */
export function mergePolicy(
  contract: Contract,
  { defaults, sources, consumers }: Policies,
  refuse: Refuse,
  applies: (path: string) => boolean = () => true,
): { readonly merged: Contract; readonly from: ReadonlyMap<string, GivenValue> } {
  const from = new Map<string, GivenValue>()
  let merged = normalised(contract)
  const set = (given: GivenValue, path: readonly string[]) => {
    merged = put(merged, path, given.value) as Contract
    from.set(path.join('.'), given)
  }
  const own = consumers.get(String(contract.name)) ?? emptyLayer
  for (const { given, path } of contractValues(own)) {
    const found = find(merged, path)
    if (!applies(path.join('.')))
      refuse(given.at, given.filePath, 'does not apply to a transform, which has no store: remove it')
    else if (found.is === 'free') set(given, path)
    else if (found.is === 'blocked' || !sameValue(found.value, given))
      refuse(given.at, given.filePath, 'differs from the contract in TypeScript: set it in one of the two')
  }
  for (const layer of [sources.get(sourceName(contract) ?? '') ?? emptyLayer, defaults]) {
    const before = merged
    for (const { given, path } of contractValues(layer))
      if (applies(path.join('.')) && mayFill(before, path)) set(given, path)
  }
  return { merged, from }
}

/** The values of a layer that belong to the contract. */
function contractValues({
  values,
}: Layer): { readonly given: GivenValue; readonly path: readonly string[] }[] {
  return values.flatMap(given => (given.path === null ? [] : [{ given, path: given.path }]))
}

function mayFill(contract: Contract, path: readonly string[]): boolean {
  if (find(contract, path).is !== 'free') return false
  // Without a retention section nothing is ever removed. A general value of sourceKeeps must not change that.
  return path.join('.') !== 'retention.sourceKeeps' || contract.retention !== undefined
}

/** Compares a value of the contract in the form of the file's values. */
function sameValue(inContract: unknown, { key, value }: GivenValue): boolean {
  const comparable = key.kind === 'duration' ? durationMs(inContract) : inContract
  return isDeepStrictEqual(comparable, value)
}

/** A contract may give the dead-letter queue as a plain text. */
function normalised(contract: Contract): Contract {
  const deadLetter = isRecord(contract.failure) ? contract.failure.deadLetter : undefined
  return typeof deadLetter === 'string'
    ? (put(contract, ['failure', 'deadLetter'], { to: deadLetter }) as Contract)
    : contract
}

/** The name of a source's queue, topic, stream or file pattern. */
export function sourceName({ source }: { readonly source?: unknown }): string | null {
  if (!isRecord(source)) return null
  const name = source.queue ?? source.topic ?? source.stream ?? source.pattern
  return typeof name === 'string' ? name : null
}
