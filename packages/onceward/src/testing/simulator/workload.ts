import { digestOf } from '../../message/digest.ts'
import type { Draws } from './draws.ts'
import type { JobPlan, SimulatedJob } from './job.ts'
import type { Publication } from './publication.ts'

export type CopyKind = 'same' | 'other bytes' | 'unreadable'

export interface WorkloadShape {
  readonly businessKeys: boolean
  /** What else is sent: the same message again, the same id with other bytes, unreadable bytes. */
  readonly copies: readonly CopyKind[]
  readonly plans: readonly JobPlan[]
}

/** All publications of one schedule, and the handlers' failures that remain, kept outside the processes. */
export class Workload {
  readonly jobs: readonly SimulatedJob[]
  readonly publications: readonly Publication[]
  readonly #digests = new Map<string, string>()
  readonly #failuresLeft = new Map<string, number>()
  readonly #first = new Map<string, number>()

  constructor(draws: Draws, shape: WorkloadShape) {
    this.jobs = jobsOf(draws, shape)
    const copies = copiesOf(draws, this.jobs, shape.copies)
    const bodies: (SimulatedJob | null)[] = [...this.jobs]
    for (const copy of copies) bodies.splice(draws.between(0, bodies.length), 0, copy)
    this.publications = bodies.map((job, index) => this.#publish(job, index, draws))
    for (const { id, plan, times } of this.jobs) {
      this.#failuresLeft.set(id, plan === 'poison' ? Infinity : times)
    }
  }

  digest(id: string, version: string): string {
    return this.#digests.get(`${id} ${version}`)!
  }

  /** When its id was first published. */
  firstOf(id: string): number {
    return this.#first.get(id)!
  }

  /**
   * True when the handler is to fail now. Every call uses one failure up, even if its transaction rolls back.
   */
  failsNow(id: string): boolean {
    const left = this.#failuresLeft.get(id)!
    this.#failuresLeft.set(id, left - 1)
    return left > 0
  }

  #publish(job: SimulatedJob | null, number: number, draws: Draws): Publication {
    const body = Buffer.from(job === null ? `{ not json ${draws.below(3)}` : JSON.stringify(job))
    const digest = digestOf(body, {}, []).toString('hex')
    if (job !== null) {
      this.#digests.set(`${job.id} ${job.version}`, digest)
      if (!this.#first.has(job.id)) this.#first.set(job.id, number)
    }
    return {
      number,
      body,
      properties: {},
      id: job?.id ?? null,
      digest,
      key: job?.key ?? 'none',
      position: null,
    }
  }
}

function jobsOf(draws: Draws, { businessKeys, plans }: WorkloadShape): SimulatedJob[] {
  const keys = draws.between(1, 3)
  const orders = draws.between(2, 8)
  const trouble = draws.pick([0, 0.2, 0.5])
  return Array.from({ length: draws.between(2, 7) }, (_, index) => ({
    id: `m${index}`,
    key: `k${draws.below(keys)}`,
    business: businessKeys ? `order ${draws.below(orders)}` : null,
    plan: draws.chance(trouble) ? draws.pick(plans) : 'apply',
    times: draws.between(1, 2),
    version: 'a',
  }))
}

/** Null for unreadable bytes. */
function copiesOf(
  draws: Draws,
  jobs: readonly SimulatedJob[],
  kinds: readonly CopyKind[],
): (SimulatedJob | null)[] {
  const copies: (SimulatedJob | null)[] = []
  while (draws.chance(0.5)) {
    const job = draws.pick(jobs)
    const kind = draws.pick(kinds)
    if (kind === 'unreadable') copies.push(null)
    else copies.push(kind === 'other bytes' ? { ...job, version: 'b' } : job)
  }
  return copies
}
