import type { EventLog } from '../event-log.ts'
import type { Fleet } from '../processes/fleet.ts'
import type { ChaosSettings } from '../processes/settings.ts'
import type { ChaosBroker } from '../servers/broker.ts'
import type { ChaosDatabase } from '../servers/database.ts'

/** Everything that faults may touch in one run. */
export interface Stage {
  readonly settings: ChaosSettings
  readonly folder: string
  readonly database: ChaosDatabase
  readonly broker: ChaosBroker
  readonly fleet: Fleet
  readonly log: EventLog
  /** Aborted when the run is to end. */
  readonly signal: AbortSignal
}

/** Stages one fault; `draw` from 0 to 1 chooses among its forms. What it returns is logged with it. */
export type Fault = (stage: Stage, draw: number) => Promise<object | undefined>

export const between = (draw: number, min: number, max: number): number =>
  Math.round(min + draw * (max - min))
