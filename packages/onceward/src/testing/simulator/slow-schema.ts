import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Actor } from './actor.ts'
import type { SimulatedJob } from './job.ts'
import type { Scheduler } from './scheduler.ts'

/** A schema of one process that answers at once, after a while, or, rarely, never. */
export function slowSchema(actor: Actor, scheduler: Scheduler): StandardSchemaV1<unknown, SimulatedJob> {
  const { draws } = scheduler
  return {
    '~standard': {
      version: 1,
      vendor: 'simulator',
      validate(value) {
        const valid = { value: value as SimulatedJob }
        if (draws.chance(0.6)) return valid
        return new Promise(resolve => {
          if (draws.chance(0.05)) return
          const answer = () => actor.hear(() => resolve(valid))
          scheduler.offer(actor, `validated ${valid.value.id}`, answer, { local: true })
        })
      },
    },
  }
}
