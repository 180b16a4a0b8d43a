import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { createPool, createQueue, hint, publish } from 'onceward/postgres'
import type { CaseStep } from './messages.ts'
import { readSettings } from './settings.ts'

const types = [
  'CaseOpened',
  'ReviewStarted',
  'CaseEscalated',
  'EnforcementActioned',
  'CaseClosed',
  'ClosureCorrected',
]

/** Step `version` (1 to 6) of a case. */
export function caseStep(caseId: string, version: number, changes: Partial<CaseStep> = {}): CaseStep {
  const type = types[version - 1]!
  return {
    messageId: `${caseId}-v${version}`,
    transitionId: `${caseId}-v${version}`,
    caseId,
    caseVersion: version,
    type,
    actor: 'officer.meyer',
    reason: `${type} after the file was read`,
    ...(type === 'CaseClosed' && { outcome: 'NO_BREACH' as const }),
    ...(type === 'ClosureCorrected' && { outcome: 'BREACH' as const }),
    ...changes,
  }
}

export const life = (caseId: string, steps = 6) =>
  Array.from({ length: steps }, (_, n) => caseStep(caseId, n + 1))

/** Resolves when the steps are committed, all or none. */
export async function send(
  pool: ReturnType<typeof createPool>,
  queue: string,
  steps: readonly object[],
): Promise<void> {
  await publish(
    pool,
    queue,
    steps.map(body => ({ body })),
  )
  await hint(pool, queue)
}

/**
 * Complete case histories, in an order in which a busy broker might deliver them: some steps twice, some
 * under a new message id, one impossible.
 */
export function sample(count: number): CaseStep[] {
  const steps = Array.from({ length: count }, (_, n) => life(`case-${n}`)).flat()
  const again = steps.filter((_, n) => n % 4 === 0)
  const renamed = steps
    .filter((_, n) => n % 5 === 0)
    .map(step => ({ ...step, messageId: `${step.messageId}-resent` }))
  const impossible = caseStep('case-0', 7, {
    messageId: 'impossible',
    transitionId: 'impossible',
    type: 'ReviewStarted',
  })
  return [...steps, ...again, ...renamed, impossible]
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { cases: { type: 'string', default: '10' } } })
  const { queue, moveQueue } = readSettings()
  const pool = createPool(process.env.ONCEWARD_DATABASE_URL!, { max: 2 })
  for (const name of [queue, moveQueue]) await createQueue(pool, name)
  const steps = sample(Number(values.cases))
  await send(pool, queue, steps)
  console.log(`${steps.length} steps in ${queue}`)
  await pool.end()
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
