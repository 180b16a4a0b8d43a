import type { SimulatedDatabase } from './database.ts'
import type { Invariants } from './invariants.ts'
import { endOf, type SimulatedJob } from './job.ts'
import { type Publication, publicationName } from './publication.ts'
import { attemptsMax, type Scenario } from './scenarios.ts'
import { heldKey } from './tables.ts'
import type { Workload } from './workload.ts'

/**
 * After the backlog has drained: every publication has exactly the outcome that its plan, its copies and its
 * lane allow.
 */
export function checkEnd(
  workload: Workload,
  scenario: Scenario,
  database: SimulatedDatabase,
  invariants: Invariants,
): void {
  const wrong = (what: string) => invariants.breach('everything terminal', what)
  for (const publication of workload.publications) {
    if (!invariants.isTerminal(publication)) wrong(`${publicationName(publication)} has no record`)
    if (scenario.dedup === 'marker' || publication.id === null) checkCopy(publication, database, wrong)
  }
  for (const job of workload.jobs) {
    const ended = endOfJob(job, scenario, workload, database, invariants)
    const allowed = endsAllowed(job, scenario, workload, database)
    if (!allowed.has(ended)) wrong(`${job.id} (${job.plan}) ended as ${ended}`)
    checkTraces(job, ended, database, wrong)
  }
}

/** The status of its marker; without one, the status that its effect or held row implies. */
function endOfJob(
  { id, version }: SimulatedJob,
  { dedup }: Scenario,
  workload: Workload,
  { tables }: SimulatedDatabase,
  invariants: Invariants,
): string {
  if (dedup === 'marker') return tables.markers.get(id)?.status ?? 'nothing'
  if (invariants.effectsOf(id) > 0) return 'applied'
  return tables.held.get(heldKey(id, workload.digest(id, version)))?.state ?? 'ignored'
}

function endsAllowed(
  job: SimulatedJob,
  { businessKeys, order, handler }: Scenario,
  workload: Workload,
  database: SimulatedDatabase,
): ReadonlySet<string> {
  const allowed = new Set<string>([endOf[job.plan]])
  if (businessKeys) {
    // A duplicate only of an effect; behind a parked message it waits.
    if (isShared(job, 'applied', workload, database)) allowed.add('duplicate')
    if (isShared(job, 'parked', workload, database)) allowed.add('parked')
  }
  if (order === 'key' && behindParked(job, workload, database)) allowed.add('parked')
  if (job.plan === 'clash') allowed.add('quarantined')
  // In a batch, others may wait long enough for its statement.
  if (job.plan === 'careless' && handler === 'batch') allowed.add('applied')
  return allowed
}

/** Another message has its business key and this outcome. */
function isShared(
  job: SimulatedJob,
  end: string,
  { jobs }: Workload,
  { tables }: SimulatedDatabase,
): boolean {
  return jobs.some(
    other => other !== job && other.business === job.business && tables.markers.get(other.id)?.status === end,
  )
}

type Wrong = (what: string) => void

/** Bytes that differ from the stored ones are set aside for operators, as are unreadable ones. */
function checkCopy({ id, digest, number }: Publication, database: SimulatedDatabase, wrong: Wrong): void {
  const marker = id === null ? undefined : database.tables.markers.get(id)
  if (marker?.digest === digest) return
  const held = database.tables.held.get(heldKey(id, digest))
  if (held?.state !== 'quarantined')
    wrong(`the bytes of #${number} are ${held?.state ?? 'nowhere'}, not quarantined`)
}

/** What else must exist, or must not, for a message with this outcome. */
function checkTraces(
  { id, plan }: SimulatedJob,
  ended: string,
  { tables }: SimulatedDatabase,
  wrong: Wrong,
): void {
  const attempts = tables.attempts.get(id) ?? 0
  const held = tables.held.get(heldKey(id, tables.markers.get(id)?.digest ?? ''))
  const isTried = plan === 'poison' || plan === 'fatal'
  const waits = held?.code === 'behind_parked' || held?.code === 'behind_business_key'
  if (isTried && held?.state === 'parked' && !waits && attempts !== attemptsMax)
    wrong(`${id} was parked after ${attempts} attempts`)
  if (plan === 'external' && ended === 'applied' && !tables.intents.has(`gateway ${id}`))
    wrong(`${id} is applied, its intent is missing`)
}

function behindParked(job: SimulatedJob, workload: Workload, { tables }: SimulatedDatabase): boolean {
  const mine = workload.firstOf(job.id)
  return workload.jobs.some(
    other =>
      other.key === job.key &&
      workload.firstOf(other.id) < mine &&
      tables.markers.get(other.id)?.status === 'parked',
  )
}
