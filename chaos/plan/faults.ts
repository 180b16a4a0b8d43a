import { seededRandom } from '../../examples/demo/seeded-random.ts'
import type { Cell } from '../cell.ts'
import { shuffled } from './messages.ts'

/** Faults of one track happen one after the other; the tracks run side by side. */
export const tracks = {
  processes: [
    ...['kill consumer', 'kill worker', 'kill dispatcher', 'kill relay'],
    ...['freeze consumer', 'freeze worker', 'freeze dispatcher', 'freeze relay'],
    ...['clock jump', 'kill gateway'],
  ],
  servers: [
    ...['kill database', 'freeze database', 'kill pooler', 'promote standby', 'cut standby', 'full disk'],
    ...['cut database link', 'slow database link', 'half-open database link', 'lose database replies'],
    ...['kill broker', 'freeze broker', 'cut broker link', 'slow broker link', 'half-open broker link'],
  ],
  people: ['redrive', 'skip', 'fix', 'campaign', 'retention', 'migrate'],
} as const

export type Track = keyof typeof tracks
export type FaultKind = string

export interface PlannedFault {
  readonly kind: FaultKind
  /** Happens once this share of the messages is confirmed. */
  readonly at: number
  /** From 0 to 1: which process, how long, how far. */
  readonly draw: number
}

export type FaultPlan = Readonly<Record<Track, readonly PlannedFault[]>>

/** Mean time between two faults of a track while the producer sends. */
const everyMs: Record<Track, number> = { processes: 1_800, servers: 6_000, people: 5_000 }

/** Why a kind of fault cannot happen in a cell; null if it can. */
export function missingIn({ source, database }: Cell, kind: FaultKind, available: Available): string | null {
  const broker = source !== 'postgres'
  if (kind.includes('broker') && !broker) return 'the queue is in the database'
  if (kind === 'kill pooler' && database !== 'pgbouncer') return 'there is no pooler'
  if (kind.includes('standby') && database !== 'standby') return 'there is no standby'
  if (kind === 'full disk')
    return database === 'standby' ? 'a tablespace cannot be copied on one machine' : available.disk
  if (kind === 'clock jump') return available.clock
  return null
}

/** Kinds of fault that a cell would have on another machine, with the reason. */
export function leftOut(cells: readonly Cell[], available: Available) {
  return cells.flatMap(cell =>
    (['full disk', 'clock jump'] as const).flatMap(kind => {
      const reason = missingIn(cell, kind, available)
      return reason === null ? [] : [{ cell, kind, reason }]
    }),
  )
}

/** Null, or the reason why this machine cannot stage it. */
export interface Available {
  readonly disk: string | null
  readonly clock: string | null
}

/**
 * The same faults for the same seed. Each track deals its kinds from a shuffled deck, so that all kinds come
 * equally often. A standby is promoted once, in the middle, and its link is cut only before.
 */
export function planFaults(
  cell: Cell,
  { seed, produceMs, short }: { seed: number; produceMs: number; short: boolean },
  available: Available,
): FaultPlan {
  const random = seededRandom(seed + 1)
  const plan = (track: Track): PlannedFault[] => {
    const kinds = kindsOf(track, cell, available, short)
    const count = Math.max(short ? kinds.length : 2, Math.round(produceMs / everyMs[track]))
    const dealt = deal(kinds, count, random)
    const faults = dealt.map((kind, n) => ({
      kind,
      at: (n + random()) / (dealt.length + 0.5),
      draw: random(),
    }))
    return track === 'servers' && cell.database === 'standby' && !short ? withPromotion(faults) : faults
  }
  return { processes: plan('processes'), servers: plan('servers'), people: plan('people') }
}

/** In `npm test`: kills and acts that cost no restart of a server. */
const shortKinds = [
  'kill consumer',
  'kill worker',
  'kill dispatcher',
  'kill relay',
  'cut database link',
  'redrive',
]

function kindsOf(track: Track, cell: Cell, available: Available, short: boolean): FaultKind[] {
  return tracks[track].filter(
    kind =>
      kind !== 'promote standby' &&
      missingIn(cell, kind, available) === null &&
      (!short || shortKinds.includes(kind)),
  )
}

function deal(kinds: readonly FaultKind[], count: number, random: () => number): FaultKind[] {
  const dealt: FaultKind[] = []
  while (dealt.length < count) dealt.push(...shuffled(kinds, random))
  return dealt.slice(0, count)
}

function withPromotion(faults: readonly PlannedFault[]): PlannedFault[] {
  const middle = 0.5
  const before = faults.filter(({ at }) => at < middle)
  const after = faults.filter(({ at, kind }) => at >= middle && kind !== 'cut standby')
  return [...before, { kind: 'promote standby', at: middle, draw: 0.5 }, ...after]
}
