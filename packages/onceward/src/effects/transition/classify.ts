import type { AggregateTable, TransitionRefusal } from './declaration.ts'
import type { AllowedMove, Moves } from './state-machine.ts'

/** A transition somebody asks for. No moves: the machine declares none that fits. */
export interface RequestedTransition {
  readonly moves: readonly AllowedMove[]
  readonly version: bigint | null
  /** As people read it: `CaseClosed`, or `open to closed`. */
  readonly name: string
}

/** Where the aggregate stands. */
export interface AggregateStanding {
  readonly state: string
  readonly version: bigint | null
}

/** A transition of the same id that happened. */
export interface KnownTransition {
  readonly aggregate: string
  readonly from: string | null
  readonly to: string
  readonly version: bigint | null
}

export type Ruling =
  | { readonly kind: 'apply'; readonly move: AllowedMove }
  | { readonly kind: TransitionRefusal; readonly reason: string }

/**
 * Pure. Whether a transition may happen now, and if not, why: "zero rows updated" has six causes, and each is
 * somebody else's work.
 *
 *   known id, same content ........ duplicate      known id, other content ......... corruption
 *   nothing declares it ........... illegal        no aggregate to move ............ missing
 *   state or version impossible ... corruption     version passed already .......... stale
 *   its turn is not yet ........... out of order   its turn, wrong state ........... illegal
 */
export function classify(
  asked: RequestedTransition,
  aggregate: string,
  standing: AggregateStanding | null,
  known: KnownTransition | undefined,
  moves: Moves | null,
  versions: AggregateTable['versions'],
): Ruling {
  if (known !== undefined) return ofKnown(asked, aggregate, known)
  if (asked.moves.length === 0) return refuse('illegal', `${asked.name} is not declared by the machine`)
  if (standing === null) return ofMissing(asked, aggregate)
  if (moves !== null && !moves.states.has(standing.state))
    return refuse(
      'corruption',
      `${aggregate} is in state '${standing.state}', which the machine does not know`,
    )
  if (asked.version === null) return byState(asked, aggregate, standing, moves)
  return byVersion(asked, aggregate, standing, moves, versions)
}

function ofKnown(asked: RequestedTransition, aggregate: string, known: KnownTransition): Ruling {
  const same =
    known.aggregate === aggregate &&
    known.version === asked.version &&
    (asked.moves.length === 0 || asked.moves.some(({ from, to }) => from === known.from && to === known.to))
  if (same) return refuse('duplicate', `${aggregate} made this transition already`)
  return refuse(
    'corruption',
    `the transition id is used up by another transition, of ${known.aggregate} from '${known.from}' to '${known.to}'`,
  )
}

function ofMissing(asked: RequestedTransition, aggregate: string): Ruling {
  const creates = asked.moves.find(move => move.from === null)
  if (creates !== undefined) return { kind: 'apply', move: creates }
  return refuse('missing', `there is no ${aggregate} yet for ${asked.name}`)
}

function byVersion(
  asked: RequestedTransition,
  aggregate: string,
  { state, version }: AggregateStanding,
  moves: Moves | null,
  versions: AggregateTable['versions'],
): Ruling {
  const [wanted, held] = [asked.version!, version!]
  const at = `${aggregate} is '${state}' at version ${held}, ${asked.name} has ${wanted}`
  if (wanted < held) return refuse('stale', at)
  if (wanted === held) {
    if (asked.moves.some(({ to }) => to === state)) return refuse('stale', `${at}: the same under another id`)
    return refuse('corruption', `${at}: two transitions claim one version`)
  }
  const move = asked.moves.find(({ from }) => from === state)
  if (versions !== 'increasing') {
    if (wanted > held + 1n) return refuse('outOfOrder', at)
    return move === undefined ? refuse('illegal', at) : { kind: 'apply', move }
  }
  if (move !== undefined) return { kind: 'apply', move }
  return comesLater(asked, state, moves) ? refuse('outOfOrder', at) : refuse('illegal', at)
}

/**
 * Without versions only the machine can tell early from late; where both are possible, waiting loses nothing.
 */
function byState(
  asked: RequestedTransition,
  aggregate: string,
  { state }: AggregateStanding,
  moves: Moves | null,
): Ruling {
  const move = asked.moves.find(({ from }) => from === state)
  if (move !== undefined) return { kind: 'apply', move }
  const at = `${aggregate} is '${state}', which is not where ${asked.name} starts`
  if (comesLater(asked, state, moves)) return refuse('outOfOrder', at)
  const passed = asked.moves.some(({ to }) => to === state || moves?.reaches(to, state))
  return refuse(passed ? 'stale' : 'illegal', at)
}

function comesLater(asked: RequestedTransition, state: string, moves: Moves | null): boolean {
  return moves !== null && asked.moves.some(({ from }) => from !== null && moves.reaches(state, from))
}

function refuse(kind: TransitionRefusal, reason: string): Ruling {
  return { kind, reason }
}
