import type { AggregateTable, TransitionRefusal } from './declaration.ts'
import type { AllowedMove, Moves } from './state-machine.ts'

/** A requested transition. Without moves: the machine declares none that matches. */
export interface RequestedTransition {
  readonly moves: readonly AllowedMove[]
  readonly version: bigint | null
  /** For messages to people: `CaseClosed`, or `open to closed`. */
  readonly name: string
}

/** The current state of the aggregate. */
export interface AggregateStanding {
  readonly state: string
  readonly version: bigint | null
}

/** A stored transition with the same id. */
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
 * Pure. Decides whether a transition may happen now, and if not, why. "Zero rows updated" has six causes, and
 * each needs a different response.
 *
 *   known id, same content ........ duplicate      known id, other content ......... corruption
 *   not declared .................. illegal        no aggregate to move ............ missing
 *   state or version impossible ... corruption     version already passed .......... stale
 *   earlier versions missing ...... out of order   next version, wrong state ....... illegal
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
      `${aggregate} is in state '${standing.state}', which the machine does not declare`,
    )
  if (asked.version === null) return byState(asked, aggregate, standing, moves)
  return byVersion(asked, aggregate, standing, moves, versions)
}

function ofKnown(asked: RequestedTransition, aggregate: string, known: KnownTransition): Ruling {
  const same =
    known.aggregate === aggregate &&
    known.version === asked.version &&
    (asked.moves.length === 0 || asked.moves.some(({ from, to }) => from === known.from && to === known.to))
  if (same) return refuse('duplicate', `${aggregate} already made this transition`)
  return refuse(
    'corruption',
    `the transition id belongs to another transition, of ${known.aggregate} from '${known.from}' to '${known.to}'`,
  )
}

function ofMissing(asked: RequestedTransition, aggregate: string): Ruling {
  const creates = asked.moves.find(move => move.from === null)
  if (creates !== undefined) return { kind: 'apply', move: creates }
  return refuse('missing', `${aggregate} does not exist yet for ${asked.name}`)
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
    return refuse('corruption', `${at}: two transitions have the same version`)
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
 * Without versions only the machine can distinguish early from late. Where both are possible, waiting is
 * safe.
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
