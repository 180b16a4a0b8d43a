import type { CrashPoint } from '../../crash-points.ts'
import type { Draws } from './draws.ts'

/** What may go wrong. `lock wait` only follows from others. */
export const faultKinds = [
  /** A process is killed. Its requests on the wire may still arrive. */
  'crash',
  /** A process stands still while the others continue, then continues itself. */
  'freeze',
  /** The machine of a process sleeps: its clock has moved on when it wakes, its timers have not. */
  'suspend',
  /** A process is asked to stop, and another is started. */
  'drain',
  /** The broker refuses a process that starts. */
  'failed start',
  /** The database server crashes and restarts. */
  'store outage',
  'connection cut',
  /** Nothing passes between a process and its servers, and nothing is closed. Later it is cut, or passes. */
  'half-open link',
  'commit reply lost',
  /** The client gives up on COMMIT before the server executes it. */
  'commit late',
  'contention',
  'lock wait',
  /** Time passes at once until the next timer, as in a process that got no CPU. */
  'slow',
  /** The broker closes a consumer's connection and redelivers its messages. */
  'disconnect',
  /** An acknowledgement, or its answer, is lost with its connection. */
  'settle lost',
  /** Messages are delivered in another order, where none is promised. */
  'reorder',
  /** Partitions of a log move: on request, or without notice. */
  'rebalance',
  'partition lost',
  'offset commit lost',
] as const

/** A kind of fault of the simulator. */
export type FaultKind = (typeof faultKinds)[number]

const queueOnly: readonly FaultKind[] = ['disconnect', 'settle lost', 'reorder']
const logOnly: readonly FaultKind[] = ['rebalance', 'partition lost', 'offset commit lost']

/** The kinds that can happen to a source of this kind. */
export function faultsOf(source: 'queue' | 'log'): readonly FaultKind[] {
  const foreign = source === 'queue' ? logOnly : queueOnly
  return faultKinds.filter(kind => !foreign.includes(kind))
}

/**
 * The faults of one schedule: some of the kinds, more or less often, up to a number of them. Few kinds at a
 * time reach deeper states than all of them at once.
 */
export class Faults {
  readonly fired = new Map<FaultKind, number>()
  /** Kills, by the crash point the process had passed last. */
  readonly kills = new Map<CrashPoint, number>()
  readonly enabled: readonly FaultKind[]
  readonly #draws: Draws
  readonly #rate: number
  #left: number

  constructor(draws: Draws, kinds: readonly FaultKind[]) {
    this.#draws = draws
    // Drawn for all kinds, so that leaving one out changes as little as possible.
    this.enabled = faultKinds.filter(() => draws.chance(0.6)).filter(kind => kinds.includes(kind))
    this.#rate = draws.pick([0.02, 0.06, 0.15])
    this.#left = draws.between(1, 8)
  }

  get over(): boolean {
    return this.#left === 0
  }

  /** True when the fault strikes now. */
  strike(kind: FaultKind): boolean {
    if (this.#left === 0 || !this.enabled.includes(kind) || !this.#draws.chance(this.#rate)) return false
    this.spend(kind)
    return true
  }

  /** A fault that may strike now, at its place in the schedule; call `spend` if it did. */
  due(kinds: readonly FaultKind[]): FaultKind | null {
    if (this.#left === 0 || !this.#draws.chance(this.#rate)) return null
    const possible = this.enabled.filter(kind => kinds.includes(kind))
    return possible.length === 0 ? null : this.#draws.pick(possible)
  }

  spend(kind: FaultKind): void {
    this.#left--
    this.struck(kind)
  }

  /** It struck as a consequence of another fault. */
  struck(kind: FaultKind): void {
    this.fired.set(kind, (this.fired.get(kind) ?? 0) + 1)
  }

  killedAfter(point: CrashPoint | null): void {
    if (point !== null) this.kills.set(point, (this.kills.get(point) ?? 0) + 1)
  }

  stop(): void {
    this.#left = 0
  }
}
