import { type Verdict as AnyVerdict, Verdict } from '../../engine/batch/verdicts.ts'
import type { ResultCode } from './declaration.ts'
import type { ProjectionFact } from './read-facts.ts'

/** A row as it is found. */
export interface RowStanding {
  readonly version: bigint
  readonly deleted: boolean
  readonly digest: Buffer | null
}

export interface WalkStep<M> {
  readonly fact: ProjectionFact<M>
  /** What is to be said of it beside that it was applied. */
  readonly codes: readonly ResultCode[]
  /** The version before it. */
  readonly from: bigint | null
}

export interface Walk<M> {
  /** Facts that move the version, in order: the last one makes the row. */
  readonly steps: readonly WalkStep<M>[]
  readonly verdicts: ReadonlyMap<ProjectionFact<M>, AnyVerdict>
}

/** Asked of a fact beyond a hole: applied all the same, or what happens to it instead. */
export type OnGap<M> = (fact: ProjectionFact<M>, found: bigint | null) => 'accept' | AnyVerdict

/** Pure: the facts of one key, in order of version, against the row. */
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
      const verdict = notNewer(fact, at, standing)
      // The row as it was stands for all before it; a repeat inside the batch is one of a fact that is
      // applied with it.
      verdicts.set(fact, verdict)
      continue
    }
    const codes: ResultCode[] = []
    const next = at === null ? firstVersion : at.version + 1n
    // Before the first version there is nothing that could be missing.
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
    return Verdict.stale(`version ${fact.version} comes after version ${at.version}`, 'stale')
  const other = fact.digest !== null && at.digest !== null && !fact.digest.equals(at.digest)
  if (other)
    return Verdict.quarantine(`version ${fact.version} again, with other content`, 'version_conflict')
  const where = at === standing ? 'is already there' : 'came twice in one batch'
  return Verdict.duplicate(`version ${fact.version} ${where}`, 'duplicate')
}

/**
 * Facts that, on a row that stands right before them, all move it and leave nothing to ask: the common case.
 */
export function isPlainRun<M>(facts: readonly ProjectionFact<M>[], maySkip: boolean): boolean {
  for (let index = 1; index < facts.length; index++) {
    const step = facts[index]!.version - facts[index - 1]!.version
    if (maySkip ? step === 0n : step !== 1n) return false
  }
  return true
}
