import { setTimeout as wait } from 'node:timers/promises'
import { confirmed, mend, onceward, parkedHeads } from './faults/operators.ts'
import type { Stage } from './faults/stage.ts'
import { type Evidence, gatherEvidence } from './oracle/evidence.ts'
import { isQuiet } from './oracle/judge.ts'

/** Longer than any lease and any pause of a breaker. */
const stalledMs = 90_000
const longestMs = 400_000

/**
 * No fault happens any more, and operators redrive what is parked. Returns when nothing is left to do, or when
 * nothing has changed for long: the verdict then says what is missing.
 */
export async function settle(stage: Stage): Promise<void> {
  const end = performance.now() + longestMs
  let picture = ''
  let changedAt = performance.now()
  while (!stage.signal.aborted && performance.now() < end) {
    await redriveAll(stage).catch(error => stage.log.add('not redriven', { error: String(error) }))
    const evidence = await look(stage).catch(() => null)
    if (evidence !== null && isQuiet(evidence)) return
    const now = pictureOf(evidence)
    if (now !== picture) changedAt = performance.now()
    picture = now
    if (performance.now() - changedAt > stalledMs) {
      stage.log.add('stalled', { picture })
      return
    }
    await wait(500)
  }
}

async function look({ settings, broker }: Stage): Promise<Evidence> {
  const depth = await broker.depth(settings)
  return gatherEvidence(settings, { copies: null, deadLetters: null, depth, halts: [], late: [] })
}

async function redriveAll(stage: Stage): Promise<void> {
  const heads = await parkedHeads(stage)
  if (heads.length === 0) return
  await mend(
    stage,
    heads.flatMap(({ messageId }) => messageId ?? []),
  )
  await onceward(stage, 'parked', 'redrive', ...heads.map(({ id }) => id), ...confirmed)
}

function pictureOf(evidence: Evidence | null): string {
  if (evidence === null) return 'not answered'
  const { applications, held, outbox, ledger, depth } = evidence
  const open = ledger.filter(({ state }) => state !== 'completed').length
  return JSON.stringify({ applied: applications.length, held: held.length, outbox, open, depth })
}
