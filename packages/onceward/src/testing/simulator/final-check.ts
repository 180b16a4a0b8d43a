import type { SimulatedDatabase } from './database.ts'
import type { Invariants } from './invariants.ts'
import { endOf, type Job } from './job.ts'
import { type Publication, publicationName } from './publication.ts'
import { attemptsMax, type Scenario } from './scenarios.ts'
import { heldKey } from './tables.ts'
import type { Workload } from './workload.ts'

/** After the backlog has drained: every publication has exactly the end its plan, its copies and its lane allow. */
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
    if (scenario.dedup === 'marker') checkJob(job, scenario, workload, database, wrong)
    else checkUnmarked(job, workload, database, invariants, wrong)
  }
}

/** With no marker, what happened to a message is its effect, or the row that holds it. */
function checkUnmarked(
  { id, plan, version }: Job,
  workload: Workload,
  database: SimulatedDatabase,
  invariants: Invariants,
  wrong: Wrong,
): void {
  const end = endOf[plan]
  const held = database.tables.held.get(heldKey(id, workload.digest(id, version)))?.state
  if ((end === 'applied') !== (invariants.effectsOf(id) === 1))
    wrong(`${id} (${plan}) has ${invariants.effectsOf(id)} effects`)
  if ((end === 'parked' || end === 'dead' ? end : undefined) !== held)
    wrong(`${id} (${plan}) is held as ${held}`)
}

type Wrong = (what: string) => void

/** Other bytes than the stored ones are set aside for people, and unreadable ones with them. */
function checkCopy({ id, digest, number }: Publication, database: SimulatedDatabase, wrong: Wrong): void {
  const marker = id === null ? undefined : database.tables.markers.get(id)
  if (marker?.digest === digest) return
  const held = database.tables.held.get(heldKey(id, digest))
  if (held?.state !== 'quarantined')
    wrong(`the bytes of #${number} are ${held?.state ?? 'nowhere'}, not quarantined`)
}

function checkJob(
  job: Job,
  { businessKeys, order }: Scenario,
  workload: Workload,
  database: SimulatedDatabase,
  wrong: Wrong,
): void {
  const { markers, attempts, intents } = database.tables
  const status = markers.get(job.id)?.status
  const allowed = new Set<string | undefined>([endOf[job.plan]])
  if (businessKeys && workload.jobs.some(other => other !== job && other.business === job.business))
    allowed.add('duplicate')
  if (order === 'key' && behindParked(job, workload, database)) allowed.add('parked')
  if (!allowed.has(status)) wrong(`${job.id} (${job.plan}) ended as ${status}`)
  if (job.plan === 'poison' && status === 'parked' && !allowed.has('applied')) {
    const count = attempts.get(job.id)
    const behind = order === 'key' && behindParked(job, workload, database)
    if (count !== attemptsMax && !behind) wrong(`${job.id} was parked after ${count} attempts`)
  }
  if (job.plan === 'external' && status === 'applied' && !intents.has(`gateway ${job.id}`))
    wrong(`${job.id} is applied, its intent is missing`)
}

function behindParked(job: Job, workload: Workload, { tables }: SimulatedDatabase): boolean {
  const mine = workload.firstOf(job.id)
  return workload.jobs.some(
    other =>
      other.key === job.key &&
      workload.firstOf(other.id) < mine &&
      tables.markers.get(other.id)?.status === 'parked',
  )
}
