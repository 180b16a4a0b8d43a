import { isTransform } from '../contract/define-transform.ts'
import { catalogue, contractRules, liveIds } from './catalogue.ts'
import { type Checked, judgeAll, type LiveAccess } from './live/access.ts'
import { type Finding, findingsOf, type Severity } from './rule.ts'
import { refusedContract } from './rules/itself.ts'
import { sampleRules } from './rules/samples.ts'
import { severalRules } from './rules/several.ts'
import { judgeTransform } from './rules/transform.ts'
import { type IdentityTrial, tryIdentities } from './samples/try-identities.ts'
import { applyWaivers, type WaivedFinding, type Waiver } from './waiver.ts'

/** A file, with its contract or its problems. */
export type LoadedContract =
  | Checked
  | { readonly file: string; readonly consumer?: undefined; readonly problems: readonly LoadProblem[] }

export interface LoadProblem {
  readonly text: string
  /**
   * Where, if it is not the contract's file: a line of the policy file, which several contracts may share.
   */
  readonly place?: string | undefined
}

export interface CheckOptions {
  readonly waivers: readonly Waiver[]
  /** As in 2026-11-15, in UTC. */
  readonly today: string
  /** Try the identities of every contract as well. */
  readonly trial?: IdentityTrial | undefined
  /** Compare with the servers as well. */
  readonly live?: LiveAccess | undefined
}

export interface CheckReport {
  readonly contracts: number
  readonly live: boolean
  /** Worst first. */
  readonly findings: readonly WaivedFinding[]
  /** Of those that are not waived. */
  readonly counts: Readonly<Record<Severity, number>>
  readonly waived: number
}

const worst: Record<Severity, number> = { error: 0, warning: 1, note: 2 }
const knownIds: ReadonlySet<string> = new Set(catalogue.map(rule => rule.id))

/** Applies all rules to all contracts; it starts, declares and changes nothing. */
export async function check(loaded: readonly LoadedContract[], options: CheckOptions): Promise<CheckReport> {
  const contracts = loaded.filter(one => one.consumer !== undefined) as Checked[]
  const findings = unique([
    ...loaded.flatMap(refused),
    ...contracts.flatMap(judgeContract),
    ...judgeTogether(contracts),
    ...(await judgeIdentities(contracts, options.trial)),
  ])
  if (options.live !== undefined) {
    const { checkLive } = await import('./live/check-live.ts')
    findings.push(...(await checkLive(contracts, options.live)))
  }
  const isLive = options.live !== undefined
  const waived = applyWaivers(findings, options.waivers, {
    today: options.today,
    knownIds,
    skipped: rule => !isLive && liveIds.has(rule),
  })
  const counts = { error: 0, warning: 0, note: 0 }
  for (const one of waived) if (one.waived === null) counts[one.severity]++
  return {
    contracts: loaded.length,
    live: isLive,
    findings: waived.toSorted(byWeight),
    counts,
    waived: waived.filter(one => one.waived !== null).length,
  }
}

/** Every contract beside a policy file reports its problems; duplicates are removed. */
function unique(findings: readonly Finding[]): Finding[] {
  const seen = new Set<string>()
  return findings.filter(({ id, consumer, place, found }) => {
    const key = JSON.stringify([id, consumer, place, found])
    return !seen.has(key) && seen.add(key)
  })
}

function refused(one: LoadedContract): Finding[] {
  if (one.consumer !== undefined) return []
  return one.problems.flatMap(({ text, place = one.file }) =>
    findingsOf(refusedContract, text, { consumer: null, place }),
  )
}

function judgeContract({ consumer, file }: Checked): Finding[] {
  if (isTransform(consumer)) return judgeTransform(consumer as never, contractRules, file)
  return judgeAll(contractRules, consumer, { consumer: consumer.name, place: file })
}

/** One contract after the other, because the clock is replaced meanwhile. */
async function judgeIdentities(
  contracts: readonly Checked[],
  trial: IdentityTrial | undefined,
): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  if (trial === undefined) return findings
  for (const { consumer, file } of contracts) {
    const subject = { consumer, samples: await tryIdentities(consumer, trial) }
    findings.push(...judgeAll(sampleRules, subject, { consumer: consumer.name, place: file }))
  }
  return findings
}

function judgeTogether(contracts: readonly Checked[]): Finding[] {
  const consumers = contracts.map(one => one.consumer)
  return severalRules.flatMap(rule =>
    rule.judge(consumers).flatMap(({ consumer, found }) => {
      const place = contracts.find(one => one.consumer.name === consumer)?.file ?? ''
      return findingsOf(rule, found, { consumer, place })
    }),
  )
}

function byWeight(one: WaivedFinding, other: WaivedFinding): number {
  return (
    worst[one.severity] - worst[other.severity] ||
    compare(one.consumer ?? '', other.consumer ?? '') ||
    compare(one.id, other.id) ||
    compare(one.found, other.found)
  )
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}

/** 0 without errors, and with `strict` without warnings; else 1. Waived findings do not count. */
export function exitCodeOf({ counts }: CheckReport, strict: boolean): 0 | 1 {
  return counts.error > 0 || (strict && counts.warning > 0) ? 1 : 0
}
