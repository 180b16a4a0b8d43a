import { Verdict } from '../../engine/batch/verdicts.ts'
import { errorText } from '../../errors.ts'
import type { Context } from './apply-facts.ts'
import type { ProjectionPlan, ProjectionTable, RepairPlan } from './plan.ts'
import type { KeyFacts, ProjectionFact } from './read-facts.ts'
import type { Hole, OpenKey, WalkedKey } from './resolve-gaps.ts'
import { namedParts } from './run-handlers.ts'

/** Maximum concurrent calls. They are made while the batch's transaction is open. */
const callsMax = 8

/**
 * Compares the keys that got an answer again, with that answer. The others keep their verdict and are retried
 * later.
 */
export async function askSourceOfTruth<M>(
  plan: ProjectionPlan<M>,
  target: ProjectionTable<M>,
  holes: ReadonlyMap<OpenKey<M>, Hole<M>>,
  context: Context<M>,
  resolve: (one: OpenKey<M>) => WalkedKey<M>,
): Promise<ReadonlyMap<KeyFacts<M>, WalkedKey<M>>> {
  const repair = (plan.gap as { repair: RepairPlan<M> }).repair
  const repaired = new Map<KeyFacts<M>, WalkedKey<M>>()
  const waiting = [...holes]
  const askNext = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [one, hole] = next
      const answer = await ask(plan, target, repair, one.key, hole, context)
      if (answer !== null) repaired.set(one.key, withAnswer(one, answer, resolve))
    }
  }
  await Promise.all(Array.from({ length: callsMax }, askNext))
  return repaired
}

async function ask<M>(
  { timers }: ProjectionPlan<M>,
  { table, reader }: ProjectionTable<M>,
  { fetch, timeoutMs }: RepairPlan<M>,
  key: KeyFacts<M>,
  { found, beyond }: Hole<M>,
  { signal, log }: Context<M>,
): Promise<ProjectionFact<M> | null> {
  const given = new AbortController()
  const { promise: late, reject } = Promise.withResolvers<never>()
  const cancel = timers.after(timeoutMs, () => reject(new Error(`no answer within ${timeoutMs} ms`)))
  try {
    const answer = fetch({
      key: namedParts(table, key),
      found,
      version: beyond.version,
      message: beyond.message,
      signal: AbortSignal.any([signal, given.signal]),
    })
    const message = await Promise.race([answer, late])
    return message === null ? null : reader.readAnswer(message, key)
  } catch (error) {
    log.warn('source of truth did not repair a gap; it will be asked again', {
      key: key.name,
      error: errorText(error, 500),
    })
    return null
  } finally {
    cancel()
    given.abort()
  }
}

/** Facts covered by the answer are applied with it. Newer facts follow. */
function withAnswer<M>(
  { key, standing }: OpenKey<M>,
  answer: ProjectionFact<M>,
  resolve: (one: OpenKey<M>) => WalkedKey<M>,
): WalkedKey<M> {
  const covered = key.facts.filter(
    ({ version }) => version <= answer.version && (standing === null || version > standing.version),
  )
  const facts = [...key.facts.filter(fact => !covered.includes(fact)), answer].sort((a, b) =>
    a.version < b.version ? -1 : 1,
  )
  const { walk } = resolve({ key: { ...key, facts }, standing })
  const verdicts = new Map(walk.verdicts)
  for (const fact of covered)
    verdicts.set(
      fact,
      Verdict.applied(`covered by version ${answer.version} of the source of truth`, 'repaired'),
    )
  return { key, standing, walk: { steps: walk.steps, verdicts, covered } }
}
