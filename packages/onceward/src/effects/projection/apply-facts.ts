import type { EffectContext } from '../../contract/declared-effect.ts'
import type { BatchItem } from '../../contract/handler.ts'
import { insertNotes, type Note } from '../../drivers/postgres/projection/insert-notes.ts'
import { lockWaitingKeys, releaseWaiting } from '../../drivers/postgres/work/release-waiting.ts'
import { type Verdict as AnyVerdict, Verdict } from '../../engine/batch/verdicts.ts'
import { invariant } from '../../errors.ts'
import { movePlainKeys } from './move-plain-keys.ts'
import { noteOf } from './note-of.ts'
import type { ProjectionPlan, ProjectionTable } from './plan.ts'
import type { KeyFacts, ProjectionFact } from './read-facts.ts'
import { reportMoved } from './report-moved.ts'
import { type OpenKey, walkWithGaps } from './resolve-gaps.ts'
import { runHandlers } from './run-handlers.ts'
import { lookUpByKey } from './table-statements.ts'
import type { WalkStep } from './walk-key.ts'
import { type RowMove, readStandings, writeMoves } from './write-rows.ts'

export type Context<M> = EffectContext<M>
export type Verdicts<M> = Map<BatchItem<M>, AnyVerdict>

/** A key whose version moved, and the facts that did it. */
export interface Moved<M> {
  readonly key: KeyFacts<M>
  readonly steps: readonly WalkStep<M>[]
  /** Older facts that the answer of a repair contains. */
  readonly covered?: readonly ProjectionFact<M>[]
}

/** A key whose row appears while it is read is read again. More rounds than this indicate a bug. */
const roundsMax = 10

/**
 * Applies a batch. One statement moves every key whose row is exactly one version before its facts; most
 * batches end there. The remaining rows are read, locked and compared fact by fact.
 */
export async function applyFacts<M>(plan: ProjectionPlan<M>, context: Context<M>): Promise<Verdicts<M>> {
  const target = context.mode === 'rebuild' ? plan.rebuild : plan.live
  const verdicts: Verdicts<M> = new Map()
  const keys = target.reader.readAll(context.batch, verdicts)
  if (keys.length === 0) return verdicts
  const moved: Moved<M>[] = []
  const endTurn = plan.contended ? await plan.turns.take(keys) : () => {}
  try {
    const open = await movePlainKeys(plan, target, keys, context, moved, verdicts)
    await walkKeys(plan, target, open, context, moved, verdicts)
  } finally {
    endTurn()
  }
  await recordNotes(plan, moved, verdicts, context)
  await release(plan, moved, context)
  if (plan.followed) await context.tx.query(lookUpByKey, ['on'])
  if (plan.handle !== null) await runHandlers(plan.handle, target, moved, context)
  if (context.report !== undefined) reportMoved(target, moved, context.report)
  return verdicts
}

async function walkKeys<M>(
  plan: ProjectionPlan<M>,
  target: ProjectionTable<M>,
  keys: readonly KeyFacts<M>[],
  context: Context<M>,
  moved: Moved<M>[],
  verdicts: Verdicts<M>,
): Promise<void> {
  let open = keys
  for (let round = 0; open.length > 0; round++) {
    invariant(round < roundsMax, 'a row that was read under lock is written')
    const openKeys = await readOpenKeys(plan, target, open, context, verdicts)
    const walks = await walkWithGaps(plan, target, openKeys, context)
    const moves: RowMove<M>[] = []
    for (const { key, standing, walk } of walks) {
      for (const [{ item }, verdict] of walk.verdicts) if (item !== null) verdicts.set(item, verdict)
      const last = walk.steps.at(-1)
      if (last !== undefined) moves.push({ key, found: standing?.version ?? null, fact: last.fact })
    }
    const how = { plainOnly: false, locks: false, upserts: false, returnsOld: false }
    const { left } = moves.length === 0 ? { left: [] } : await writeMoves(target, moves, context.tx, how)
    // Another writer added the row between the read and the write, so the verdicts of this round are void.
    const again = new Set(left.map(move => move.key))
    for (const { key, walk } of walks) {
      if (!again.has(key) && walk.steps.length > 0) moved.push({ key, ...walk })
    }
    open = open.filter(key => again.has(key))
  }
}

/**
 * A fact may only start to wait under a lock that every writer of the key needs as well; otherwise they miss
 * each other. The row is that lock. Where no row exists yet, the key's name is, and the row is read again
 * under that lock.
 */
async function readOpenKeys<M>(
  plan: ProjectionPlan<M>,
  target: ProjectionTable<M>,
  keys: readonly KeyFacts<M>[],
  { tx }: Context<M>,
  verdicts: Verdicts<M>,
): Promise<readonly OpenKey<M>[]> {
  const standings = new Map(await readStandings(target, keys, tx))
  const missing = keys.filter(key => !standings.has(key))
  if (plan.gap.policy === 'wait' && missing.length > 0) {
    await lockWaitingKeys(
      tx,
      missing.map(key => key.name),
    )
    for (const [key, standing] of await readStandings(target, missing, tx)) standings.set(key, standing)
  }
  const open: OpenKey<M>[] = []
  for (const key of keys) {
    const standing = standings.get(key) ?? null
    if (standing === 'no version') parkFacts(key, target, verdicts)
    else open.push({ key, standing })
  }
  return open
}

/** Only an operator can decide whether the facts are newer than a row without a version. */
function parkFacts<M>(
  { name, facts }: KeyFacts<M>,
  { table }: ProjectionTable<M>,
  verdicts: Verdicts<M>,
): void {
  const reason = `the row of ${name} in ${table.name} has no version: another writer left ${table.version.plainName} null. Nothing was overwritten. Set the version that matches the row's content, then release the message.`
  for (const { item } of facts)
    if (item !== null) verdicts.set(item, Verdict.park(reason, 'row_without_version'))
}

/** Releases messages that waited for the versions just written. */
async function release<M>(
  plan: ProjectionPlan<M>,
  moved: readonly Moved<M>[],
  { tx }: Context<M>,
): Promise<void> {
  if (plan.gap.policy !== 'wait') return
  await releaseWaiting(
    tx,
    moved.map(({ key, steps }) => ({ key: key.name, version: steps.at(-1)!.fact.version + 1n })),
  )
}

/** Verdicts that end a message here. The others are recorded with the held message. */
const ended: ReadonlySet<AnyVerdict['kind']> = new Set(['applied', 'duplicate', 'ignore', 'stale'])

/** Records a verdict and a note for every fact that is not a plain move. */
async function recordNotes<M>(
  plan: ProjectionPlan<M>,
  moved: readonly Moved<M>[],
  verdicts: Verdicts<M>,
  { tx }: Context<M>,
): Promise<void> {
  const notes: Note[] = []
  for (const [item, { code, kind, reason }] of verdicts) {
    const redelivered = plan.remembers && (kind === 'stale' || kind === 'duplicate')
    if (ended.has(kind) && !redelivered) notes.push({ messageId: item.envelope.id, code, detail: reason })
  }
  for (const { steps } of moved) {
    for (const { fact, codes, from } of steps) {
      if (fact.item === null || codes.length === 0) continue
      const reason = `from version ${from ?? 'none'} to ${fact.version}`
      verdicts.set(fact.item, Verdict.applied(reason, codes[0]))
      for (const code of codes) notes.push(noteOf(fact, code, reason))
    }
  }
  if (notes.length > 0) await insertNotes(tx, notes)
}
