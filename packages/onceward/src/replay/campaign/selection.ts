import { OncewardError } from '../../errors.ts'
import { type HeldState, heldStates } from '../../ports/held-record.ts'
import type { Edge } from '../../ports/range-reader.ts'

/**
 * What an operator wants to read again, stored as requested. `log`: the topic, stream or files of the
 * contract. `file`: JSON lines. `archive`: a folder or file that retention wrote. `held`: messages in the
 * store in these states, read and not changed. `parked`: parked messages, which are processed.
 */
export type Selection = (
  | { readonly of: 'log'; readonly start: Edge; readonly end: Edge }
  | FileSelection
  | { readonly of: 'archive'; readonly path: string }
  | { readonly of: 'held'; readonly states: readonly HeldState[] }
  | ParkedSelection
) & {
  /** Only messages with one of these as id, order key, aggregate id or business key. */
  readonly keys?: readonly string[]
  /**
   * Includes messages that operators skipped or deleted. Needs the approval of a second person, at any risk.
   * Default: they stay without an effect.
   */
  readonly includingSkipped?: boolean
}

export interface FileSelection {
  readonly of: 'file'
  readonly path: string
  /**
   * The requester states that these messages never reach the live consumer, or that their external effects
   * are not wanted if they do.
   */
  readonly neverLive?: boolean
}

/** Messages that need attention, as the input of a campaign. */
export interface ParkedSelection {
  readonly of: 'parked'
  /** Only messages with this failure fingerprint, from `onceward parked groups`. */
  readonly cause?: string
  readonly keys?: readonly string[]
}

const keysMax = 10_000

/** Refuses a selection that must not be stored. */
export function assertSelection(selection: Selection): void {
  const { keys, includingSkipped } = selection
  assertNeverLive(selection)
  if (includingSkipped !== undefined && typeof includingSkipped !== 'boolean')
    throw wrong('includingSkipped is true or false')
  if (includingSkipped === true && selection.of === 'parked')
    throw wrong('parked messages were not skipped: select the log, a file or an archive')
  if (keys !== undefined && (keys.length === 0 || keys.length > keysMax))
    throw wrong(`give 1 to ${keysMax} keys, or leave them out`)
  if (selection.of === 'log') {
    for (const edge of [selection.start, selection.end]) assertEdge(edge)
  } else if (selection.of === 'file' || selection.of === 'archive') {
    if (selection.path.trim() === '') throw wrong('name a file')
  } else if (selection.of === 'parked') {
    if (selection.cause !== undefined && !/^[0-9a-f]{12}$/.test(selection.cause))
      throw wrong('a cause has 12 hexadecimal digits; see "onceward parked groups"')
  } else if (selection.states.length === 0 || !selection.states.every(state => heldStates.includes(state)))
    throw wrong(`held messages are ${heldStates.join(', ')}`)
}

function assertNeverLive(selection: Selection): void {
  const { neverLive } = selection as Partial<FileSelection>
  if (neverLive === undefined) return
  if (typeof neverLive !== 'boolean') throw wrong('neverLive is true or false')
  if (selection.of !== 'file') throw wrong('neverLive applies to the messages of a file')
}

function assertEdge(edge: Edge): void {
  if (edge === 'first' || edge === 'next') return
  const isPlace = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0
  if ('timestampMs' in edge ? isPlace(edge.timestampMs) : Object.values(edge.offsets).every(isPlace)) return
  throw wrong("an edge is 'first', 'next', { timestampMs } or { offsets: { partition: offset } }")
}

function wrong(why: string): OncewardError {
  return new OncewardError('usage', `This cannot be selected: ${why}. Nothing was created.`)
}
