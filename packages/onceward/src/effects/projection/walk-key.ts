import { type Verdict as AnyVerdict, Verdict } from '../../engine/batch/verdicts.ts'
import type { ResultCode } from './declaration.ts'
import type { ProjectionFact } from './read-facts.ts'

/** The current state of a row. */
export interface RowStanding {
  readonly version: bigint
  readonly deleted: boolean
  readonly digest: Buffer | null
}

export interface WalkStep<M> {
  readonly fact: ProjectionFact<M>
  /** The codes recorded in addition to "applied". */
  readonly codes: readonly ResultCode[]
  /** The version before it. */
  readonly from: bigint | null
}

export interface Walk<M> {
  /** Facts that move the version, in order. The last one becomes the row. */
  readonly steps: readonly WalkStep<M>[]
  readonly verdicts: ReadonlyMap<ProjectionFact<M>, AnyVerdict>
  /** Older facts that the answer of a repair contains. */
  readonly covered?: readonly ProjectionFact<M>[]
}

/** Called for a fact after a gap: apply it, or return its verdict. */
export type OnGap<M> = (fact: ProjectionFact<M>, found: bigint | null) => 'accept' | AnyVerdict

/** Pure. Compares the facts of one key, in order of version, with the row. */
export function walkKey<M>(
  standing: RowStanding | null,
  facts: readonly ProjectionFact<M>[],
  firstVersion: bigint,
  onGap: OnGap<M> | 'skips allowed',
): Walk<M> {
  const steps: WalkStep<M>[] = []
  const verdicts = new Map<ProjectionFact<M>, AnyVerdict>()
  let at = standing
  for (const fact of facts) {
    if (at !== null && fact.version <= at.version) {
      verdicts.set(fact, notNewer(fact, at, standing))
      continue
    }
    const codes: ResultCode[] = []
    const next = at === null ? firstVersion : at.version + 1n
    // No version can be missing before the first.
    if (onGap !== 'skips allowed' && fact.version > next) {
      const answer = fact.item === null ? 'accept' : onGap(fact, at?.version ?? null)
      if (answer !== 'accept') {
        verdicts.set(fact, answer)
        continue
      }
      if (fact.item !== null) codes.push('gap')
    }
    if (fact.item === null) codes.push('repaired')
    if (fact.deletes) codes.push('deleted')
    else if (at?.deleted) codes.push('resurrected')
    if (fact.corrects !== null) codes.push('correction')
    steps.push({ fact, codes, from: at?.version ?? null })
    at = { version: fact.version, deleted: fact.deletes, digest: fact.digest }
  }
  return { steps, verdicts }
}

function notNewer<M>(fact: ProjectionFact<M>, at: RowStanding, standing: RowStanding | null): AnyVerdict {
  if (fact.version < at.version)
    return Verdict.stale(`version ${fact.version} arrived after version ${at.version}`, 'stale')
  const other = fact.digest !== null && at.digest !== null && !fact.digest.equals(at.digest)
  if (other)
    return Verdict.quarantine(`version ${fact.version} arrived again with other content`, 'version_conflict')
  const where = at === standing ? 'is already applied' : 'occurs twice in one batch'
  return Verdict.duplicate(`version ${fact.version} ${where}`, 'duplicate')
}

/** Whether the facts all move a row that is one version before them, without a gap: the common case. */
export function isPlainRun<M>(facts: readonly ProjectionFact<M>[], maySkip: boolean): boolean {
  for (let index = 1; index < facts.length; index++) {
    const step = facts[index]!.version - facts[index - 1]!.version
    if (maySkip ? step === 0n : step !== 1n) return false
  }
  return true
}
