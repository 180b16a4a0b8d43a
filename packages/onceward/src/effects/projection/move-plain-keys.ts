import { lockWaitingKeys } from '../../drivers/postgres/work/release-waiting.ts'
import type { Context, Moved, Verdicts } from './apply-facts.ts'
import type { ProjectionPlan, ProjectionTable } from './plan.ts'
import type { KeyFacts, ProjectionFact } from './read-facts.ts'
import { lookUpByKey } from './table-statements.ts'
import { isPlainRun, walkKey } from './walk-key.ts'
import { type RowMove, writeMoves } from './write-rows.ts'

/**
 * Writes every key whose row need not be read first, in one statement. Returns the keys that are still open.
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
  // An upsert has no join; the other statements do.
  const looksUp = upserts ? null : tx.query(lookUpByKey, ['off'])
  if (plan.gap.policy === 'wait')
    await lockWaitingKeys(
      tx,
      moves.filter(({ found }) => found === null).map(({ key }) => key.name),
    )
  const how = { plainOnly: true, locks: plan.contended, upserts, returnsOld: plan.upserts === 'returning' }
  const { left, was } = moves.length === 0 ? nothing : await writeMoves(target, moves, tx, how)
  await looksUp
  const leftOver = new Set(left)
  const done = left.length === 0 ? moves : moves.filter(move => !leftOver.has(move))
  if (how.returnsOld) reportPrevious(plan, done, was, moved, verdicts)
  else follow(plan, done, moved)
  if (done.length === keys.length) return []
  if (upserts) await tx.query(lookUpByKey, ['off'])
  const closed = new Set(done.map(move => move.key))
  return keys.filter(key => !closed.has(key))
}

const nothing = { left: [], was: [] }

/** The keys that may be written without reading their rows, each with the expected version of its row. */
function plainMoves<M>(
  plan: ProjectionPlan<M>,
  { table }: ProjectionTable<M>,
  keys: readonly KeyFacts<M>[],
): RowMove<M>[] {
  const upserts = plan.upserts !== 'no'
  // Whether several facts of a key may be written without comparing each with the row. A handler must get
  // exactly the newer ones, and a digest must be compared.
  const mayFold = {
    no: true,
    blind: !plan.followed,
    returning: table.digest === null,
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

/** Records moves from the expected version. Only facts that delete or correct need a note. */
function follow<M>(plan: ProjectionPlan<M>, done: readonly RowMove<M>[], moved: Moved<M>[]): void {
  const all = plan.followed || plan.gap.policy === 'wait'
  for (const { key, found } of done) {
    if (!all && !key.facts.some(isRemarkable)) continue
    const standing = found === null ? null : { version: found, deleted: false, digest: null }
    moved.push({ key, steps: walkKey(standing, key.facts, plan.firstVersion, 'skips allowed').steps })
  }
}

/** The row is already written. Its previous version reveals gaps, and older facts in the same batch. */
function reportPrevious<M>(
  plan: ProjectionPlan<M>,
  done: readonly RowMove<M>[],
  was: readonly (string | null)[],
  moved: Moved<M>[],
  verdicts: Verdicts<M>,
): void {
  const onGap = plan.gap.policy === 'skips allowed' ? plan.gap.policy : () => 'accept' as const
  for (const [index, { key }] of done.entries()) {
    const before = was[index] == null ? null : BigInt(was[index])
    const next = before === null ? plan.firstVersion : before + 1n
    const { facts } = key
    const expected = facts[0]!.version === next && isPlainRun(facts, false)
    if (expected && !plan.followed && !facts.some(isRemarkable)) continue
    const standing = before === null ? null : { version: before, deleted: false, digest: null }
    const walk = walkKey(standing, facts, plan.firstVersion, onGap)
    for (const [{ item }, verdict] of walk.verdicts) if (item !== null) verdicts.set(item, verdict)
    moved.push({ key, steps: walk.steps })
  }
}

const isRemarkable = ({ deletes, corrects }: ProjectionFact) => deletes || corrects !== null
