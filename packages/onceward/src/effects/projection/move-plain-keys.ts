import { lockWaitingKeys } from '../../drivers/postgres/work/release-waiting.ts'
import type { Context, Moved, Verdicts } from './apply-facts.ts'
import type { ProjectionPlan, ProjectionTable } from './plan.ts'
import type { KeyFacts, ProjectionFact } from './read-facts.ts'
import { lookUpByKey } from './table-statements.ts'
import { isPlainRun, walkKey } from './walk-key.ts'
import { type RowMove, writeMoves } from './write-rows.ts'

/**
 * Writes every key whose row needs not be looked at first, in one statement; answers with the keys that are
 * still open.
 */
export async function movePlainKeys<M>(
  plan: ProjectionPlan<M>,
  target: ProjectionTable<M>,
  keys: readonly KeyFacts<M>[],
  context: Context<M>,
  moved: Moved<M>[],
  verdicts: Verdicts<M>,
): Promise<readonly KeyFacts<M>[]> {
  const { tx } = context
  const moves = plainMoves(plan, target, keys)
  const upserts = plan.upserts !== 'no'
  // An upsert joins nothing, all else does.
  const looksUp = upserts ? null : tx.query(lookUpByKey, ['off'])
  if (plan.gap.policy === 'wait')
    await lockWaitingKeys(
      tx,
      moves.filter(({ found }) => found === null).map(({ key }) => key.name),
    )
  const how = { plainOnly: true, locks: plan.contended, upserts, tells: plan.upserts === 'telling' }
  const { left, was } = moves.length === 0 ? nothing : await writeMoves(target, moves, tx, how)
  await looksUp
  const leftOver = new Set(left)
  const done = left.length === 0 ? moves : moves.filter(move => !leftOver.has(move))
  if (how.tells) sayWhatWas(plan, done, was, moved, verdicts)
  else follow(plan, done, moved)
  if (done.length === keys.length) return []
  if (upserts) await tx.query(lookUpByKey, ['off'])
  const closed = new Set(done.map(move => move.key))
  return keys.filter(key => !closed.has(key))
}

const nothing = { left: [], was: [] }

/**
 * The keys that may be written before anybody has looked at their rows, each with where its row should stand.
 */
function plainMoves<M>(
  plan: ProjectionPlan<M>,
  { table }: ProjectionTable<M>,
  keys: readonly KeyFacts<M>[],
): RowMove<M>[] {
  const upserts = plan.upserts !== 'no'
  // Several facts that have to be compared with the row: for a handler that is to get exactly the newer ones,
  // or by their digest.
  const mayFold = {
    no: true,
    blind: plan.handle === null,
    telling: table.digest === null,
  }[plan.upserts]
  const moves: RowMove<M>[] = []
  for (const key of keys) {
    if (!isPlainRun(key.facts, upserts) || (key.facts.length > 1 && !mayFold)) continue
    const first = key.facts[0]!.version
    const found = upserts || first === plan.firstVersion ? null : first - 1n
    moves.push({ key, found, fact: key.facts.at(-1)! })
  }
  return moves
}

/** What stood where it was expected: there is something to say only where a fact itself asks for it. */
function follow<M>(plan: ProjectionPlan<M>, done: readonly RowMove<M>[], moved: Moved<M>[]): void {
  const all = plan.handle !== null || plan.gap.policy === 'wait'
  for (const { key, found } of done) {
    if (!all && !key.facts.some(isRemarkable)) continue
    const standing = found === null ? null : { version: found, deleted: false, digest: null }
    moved.push({ key, steps: walkKey(standing, key.facts, plan.firstVersion, 'skips allowed').steps })
  }
}

/** The row is written; what it was before tells gaps, and older facts that came with the newest. */
function sayWhatWas<M>(
  plan: ProjectionPlan<M>,
  done: readonly RowMove<M>[],
  was: readonly (string | null)[],
  moved: Moved<M>[],
  verdicts: Verdicts<M>,
): void {
  for (const [index, { key }] of done.entries()) {
    const before = was[index] == null ? null : BigInt(was[index])
    const next = before === null ? plan.firstVersion : before + 1n
    const { facts } = key
    const expected = facts[0]!.version === next && isPlainRun(facts, false)
    if (expected && plan.handle === null && !facts.some(isRemarkable)) continue
    const standing = before === null ? null : { version: before, deleted: false, digest: null }
    const walk = walkKey(standing, facts, plan.firstVersion, () => 'accept')
    for (const [{ item }, verdict] of walk.verdicts) if (item !== null) verdicts.set(item, verdict)
    moved.push({ key, steps: walk.steps })
  }
}

const isRemarkable = ({ deletes, corrects }: ProjectionFact) => deletes || corrects !== null
