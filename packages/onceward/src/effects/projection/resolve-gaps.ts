import { type Verdict as AnyVerdict, Verdict } from '../../engine/batch/verdicts.ts'
import type { Context } from './apply-facts.ts'
import { askSourceOfTruth } from './ask-source-of-truth.ts'
import type { GapAction } from './declaration.ts'
import type { GapPlan, ProjectionPlan, ProjectionTable } from './plan.ts'
import type { KeyFacts, ProjectionFact } from './read-facts.ts'
import { recordRebuilds } from './record-rebuilds.ts'
import { openWaitingRoom, type WaitingRoom } from './waiting-room.ts'
import { type RowStanding, type Walk, walkKey } from './walk-key.ts'

export interface OpenKey<M> {
  readonly key: KeyFacts<M>
  readonly standing: RowStanding | null
}
export interface WalkedKey<M> extends OpenKey<M> {
  readonly walk: Walk<M>
}

/** Missing versions: after `found`, before the fact. */
export interface Hole<M> {
  readonly found: bigint | null
  readonly beyond: ProjectionFact<M>
}

/** The handling of a fact after a gap. */
type Treatment = GapAction | 'wait' | 'rebuild'

/** Compares the facts of every key with its row. Where versions are missing, the declared policy decides. */
export async function walkWithGaps<M>(
  plan: ProjectionPlan<M>,
  target: ProjectionTable<M>,
  open: readonly OpenKey<M>[],
  context: Context<M>,
): Promise<readonly WalkedKey<M>[]> {
  const { gap, firstVersion } = plan
  const walk = (one: OpenKey<M>, onGap: Parameters<typeof walkKey<M>>[3]) => ({
    ...one,
    walk: walkKey(one.standing, one.key.facts, firstVersion, onGap),
  })
  if (gap.policy === 'skips allowed') return open.map(one => walk(one, gap.policy))
  const withHole: OpenKey<M>[] = []
  const straight = open.map(one =>
    walk(one, () => {
      if (withHole.at(-1) !== one) withHole.push(one)
      return pending
    }),
  )
  if (withHole.length === 0) return straight

  const treat = treatment(
    gap,
    gap.policy === 'wait' ? await openWaitingRoom(gap, withHole, context.tx) : null,
  )
  const toRepair = new Map<OpenKey<M>, Hole<M>>()
  const resolve = (one: OpenKey<M>) =>
    walk(one, (fact, found) => {
      const treated = treat(fact, one.key)
      if (treated === 'repair' && !toRepair.has(one)) toRepair.set(one, { found, beyond: fact })
      return verdictOf(treated, fact, found, one.key, gap)
    })
  const holes = new Set(withHole)
  const walked = straight.map((one, index) => (holes.has(open[index]!) ? resolve(open[index]!) : one))
  if (gap.policy === 'rebuild') await recordRebuilds(walked, context.tx)
  if (toRepair.size === 0) return walked
  const repaired = await askSourceOfTruth(plan, target, toRepair, context, resolve)
  return walked.map(one => repaired.get(one.key) ?? one)
}

const pending = Verdict.retryAfter(0, 'not decided yet')

function treatment<M>(
  gap: GapPlan<M>,
  room: WaitingRoom<M> | null,
): (fact: ProjectionFact<M>, key: KeyFacts<M>) => Treatment {
  switch (gap.policy) {
    case 'act':
      return () => gap.action
    case 'wait':
      return (fact, key) => {
        const waited = fact.item?.waited ?? null
        if (waited === 'too late') return gap.atDeadline
        return waited === 'released' || room!.admits(fact, key) ? 'wait' : gap.whenFull
      }
    default:
      return () => 'rebuild'
  }
}

function verdictOf<M>(
  treated: Treatment,
  { version }: ProjectionFact<M>,
  found: bigint | null,
  { name }: KeyFacts<M>,
  gap: GapPlan<M>,
): 'accept' | AnyVerdict {
  const reason = `version ${version} of ${name} arrived while the row is at ${found ?? 'none'}`
  switch (treated) {
    case 'accept':
      return 'accept'
    case 'park':
      return Verdict.park(reason, 'gap')
    case 'halt key':
      return Verdict.quarantine(reason, 'gap', { blocksKey: true })
    case 'rebuild':
      return Verdict.ignore(reason, 'rebuild')
    case 'repair':
      return Verdict.retryAfter(
        'repair' in gap ? gap.repair!.retryMs : 0,
        `${reason}, and no repair yet`,
        'gap',
      )
    case 'wait':
      return Verdict.wait(reason, {
        key: name,
        version,
        withinMs: gap.policy === 'wait' ? gap.deadlineMs : 0,
      })
  }
}
