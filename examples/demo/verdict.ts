import { styleText } from 'node:util'
import type { Evidence } from './evidence.ts'
import { type Check, judge } from './judge.ts'
import { killsEachMin } from './kill-schedule.ts'
import type { DemoSettings } from './settings.ts'
import { number } from './view.ts'
import { type Workers, workerNames } from './workers.ts'

/** The object of `--json`. Its names are part of the interface. */
export interface Verdict {
  readonly produced: number
  readonly captures: number
  /**
   * A lower bound: as the consumers reported, without the last moment of a killed one, and never less than
   * the messages that left the queue.
   */
  readonly delivered: number
  /** A lower bound, as reported. */
  readonly duplicates: number
  readonly applied: number
  readonly conflicts: number
  readonly quarantined: number
  readonly deadLettered: number
  readonly kills: number
  readonly killsBy: Readonly<Record<string, number>>
  readonly charges: number
  readonly gatewayCalls: number
  readonly lost: number
  readonly doubled: number
  readonly appliedTwice: number
  readonly chargedTwice: number
  readonly broker: string
  readonly seed: number
  readonly seconds: number
  readonly checks: readonly Check[]
  readonly ok: boolean
}

const duplicateShareMin = 0.2

export function reachVerdict(
  evidence: Evidence,
  settings: DemoSettings,
  workers: Pick<Workers, 'reported' | 'kills' | 'killCount' | 'surprises'>,
  seconds: number,
): Verdict {
  const judged = judge(evidence)
  const produced = evidence.sent.length
  const { duplicates, ...reported } = workers.reported()
  const delivered = Math.max(reported.delivered, produced - evidence.queued)
  const share = produced === 0 ? 0 : duplicates / produced
  const checks: Check[] = [
    ...judged.checks,
    {
      name: 'the whole plan was produced and confirmed',
      ok: produced === settings.messages,
      found: `${number(produced)} of ${number(settings.messages)}`,
    },
    {
      name: `at least ${duplicateShareMin * 100} % of the messages reached the consumers as duplicates`,
      ok: share >= duplicateShareMin,
      found: `${(share * 100).toFixed(1)} %`,
    },
    {
      name: `every process was killed at least ${killsEachMin} times`,
      ok: workerNames.every(name => workers.kills[name] >= killsEachMin),
      found: workerNames.map(name => `${name} ${workers.kills[name]}`).join(', '),
    },
    {
      name: 'no process ended unexpectedly',
      ok: workers.surprises.length === 0,
      found: workers.surprises.join('; ') || 'none',
    },
  ]
  const { checks: _, calls, ...counts } = judged
  return {
    produced,
    delivered,
    duplicates,
    applied: evidence.captures.length,
    ...counts,
    gatewayCalls: calls,
    kills: workers.killCount,
    killsBy: { ...workers.kills },
    broker: settings.broker,
    seed: settings.seed,
    seconds: Math.round(seconds * 10) / 10,
    checks,
    ok: checks.every(check => check.ok) && judged.lost === 0 && judged.doubled === 0,
  }
}

export function verdictText(verdict: Verdict): string {
  const mark = (ok: boolean) => (ok ? styleText('green', '✔') : styleText('red', '✘'))
  const lines = verdict.checks.map(
    ({ name, ok, found }) => `  ${mark(ok)} ${name} ${styleText('gray', `· ${found}`)}`,
  )
  const count = (value: number) => styleText(value === 0 ? 'green' : 'red', number(value))
  return [
    '',
    "Verdict, from the producer's log, the tables and the gateway's book:",
    '',
    ...lines,
    '',
    `  produced ${number(verdict.produced)} messages for ${number(verdict.captures)} captures; delivered at least ${number(verdict.delivered)} times, at least ${number(verdict.duplicates)} duplicates skipped`,
    `  applied ${number(verdict.applied)}, charged ${number(verdict.charges)} in ${number(verdict.gatewayCalls)} calls, quarantined ${verdict.quarantined} (${verdict.conflicts} conflicts), dead-lettered ${verdict.deadLettered}`,
    `  killed with kill -9 ${verdict.kills} times`,
    '',
    `  lost ${count(verdict.lost)}   applied twice ${count(verdict.appliedTwice)}   charged twice ${count(verdict.chargedTwice)}   ${styleText(['bold', verdict.ok ? 'green' : 'red'], verdict.ok ? 'OK' : 'NOT OK')}   ${styleText('gray', `${verdict.seconds} s, seed ${verdict.seed}`)}`,
  ].join('\n')
}
