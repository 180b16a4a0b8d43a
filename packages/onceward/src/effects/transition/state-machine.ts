import { isRecord, type Report } from '../../contract/check-values.ts'
import { nearestName } from '../../ports/nearest-name.ts'

/**
 * The states of an aggregate and the events that move it. `from: null` creates the aggregate in its initial
 * state.
 *
 *     {
 *       initial: 'open',
 *       states: ['open', 'closed'],
 *       events: { Opened: { from: null, to: 'open' }, Closed: { from: 'open', to: 'closed' } },
 *     }
 */
export interface StateMachine {
  readonly initial: string
  readonly states: readonly string[]
  readonly events: Readonly<Record<string, DeclaredMove | readonly DeclaredMove[]>>
}

/** One allowed change of state. */
export interface DeclaredMove {
  readonly from: string | null | readonly string[]
  readonly to: string
}

/** One step from one state. */
export interface AllowedMove {
  readonly from: string | null
  readonly to: string
}

/** A machine prepared for lookups. */
export interface Moves {
  readonly states: ReadonlySet<string>
  /** Empty when the event is not declared. */
  ofEvent(event: string): readonly AllowedMove[]
  declares(move: AllowedMove): boolean
  /** In one step or more. */
  reaches(from: string, to: string): boolean
}

export function movesOf(machine: StateMachine): Moves {
  const byEvent = new Map(Object.entries(machine.events).map(([event, moves]) => [event, flat(moves)]))
  const all = [...byEvent.values()].flat()
  const reached = new Map(machine.states.map(state => [state, reachedFrom(state, all)]))
  return {
    states: new Set(machine.states),
    ofEvent: event => byEvent.get(event) ?? [],
    declares: ({ from, to }) => all.some(move => move.from === from && move.to === to),
    reaches: (from, to) => reached.get(from)?.has(to) ?? false,
  }
}

function flat(moves: DeclaredMove | readonly DeclaredMove[]): readonly AllowedMove[] {
  return [moves].flat().flatMap(({ from, to }) => [from].flat().map(one => ({ from: one, to })))
}

function reachedFrom(start: string, moves: readonly AllowedMove[]): ReadonlySet<string> {
  const reached = new Set<string>()
  const open = [start]
  for (let state = open.pop(); state !== undefined; state = open.pop()) {
    for (const { from, to } of moves) {
      if (from !== state || reached.has(to)) continue
      reached.add(to)
      open.push(to)
    }
  }
  return reached
}

/** Reports unknown and unreachable states, and ambiguous events. */
export function machineProblems(machine: unknown, wrong: Report): void {
  if (!isRecord(machine) || !Array.isArray(machine.states) || !isRecord(machine.events))
    return wrong('machine', 'must be { initial, states: […], events: { name: { from, to } } }')
  const { initial, states, events } = machine as unknown as StateMachine
  const named = new Set<unknown>(states)
  if (states.length === 0 || !states.every(state => typeof state === 'string' && state !== ''))
    return wrong('machine.states', 'must list the names of the states')
  if (named.size !== states.length) wrong('machine.states', 'names a state twice')
  const known = (state: unknown, place: string) => {
    if (named.has(state)) return true
    const near = nearestName(String(state), states)
    wrong(
      place,
      `'${String(state)}' is not one of machine.states${near === null ? '' : `; did you mean '${near}'?`}`,
    )
    return false
  }
  let sound = known(initial, 'machine.initial')
  for (const [event, moves] of Object.entries(events)) {
    const place = `machine.events.${event}`
    if (![moves].flat().every(move => isRecord(move) && move.from !== undefined)) {
      wrong(place, 'must be { from, to }, or a list of them; from: null creates the aggregate')
      sound = false
      continue
    }
    for (const { from, to } of flat(moves)) {
      if (from !== null) sound = known(from, `${place}.from`) && sound
      else if (to !== initial)
        wrong(place, `creates the aggregate in '${to}', but machine.initial is '${initial}'`)
      sound = known(to, `${place}.to`) && sound
    }
    ambiguityProblems(place, flat(moves), wrong)
  }
  if (sound) unreachableProblems(machine as unknown as StateMachine, wrong)
}

function ambiguityProblems(place: string, moves: readonly AllowedMove[], wrong: Report): void {
  for (const [from, same] of Map.groupBy(moves, move => move.from)) {
    const ends = new Set(same.map(move => move.to))
    if (ends.size > 1)
      wrong(
        place,
        `leads from '${from}' to ${[...ends].join(' and ')}; make them two events, or give from and to`,
      )
  }
}

function unreachableProblems({ initial, states, events }: StateMachine, wrong: Report): void {
  const reached = reachedFrom(initial, Object.values(events).flatMap(flat))
  for (const state of states) {
    if (state !== initial && !reached.has(state))
      wrong(
        'machine.states',
        `'${state}' cannot be reached from '${initial}'; declare the event that leads there`,
      )
  }
}
