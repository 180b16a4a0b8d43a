import { OncewardError } from '../../errors.ts'
import type { Edge } from '../../ports/range-reader.ts'
import { type HeldState, heldStates } from '../../ports/store.ts'

/**
 * What a person wants to be read again; kept as it was asked. `log`: the topic, stream or files the contract
 * reads. `file`: JSON lines that somebody put there. `archive`: what retention has put aside, a folder or one
 * file of it. `held`: messages this store still has, in these states, read and not touched. `parked`: what
 * waits for people, taken up.
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
   * What people skipped or deleted is taken up too. Needs the approval of a second person, whatever the risk.
   * Default: it stays as they decided.
   */
  readonly includingSkipped?: boolean
}

export interface FileSelection {
  readonly of: 'file'
  readonly path: string
  /**
   * Somebody says that these messages never come to the live consumer, or that their external effects are not
   * wanted if they do.
   */
  readonly neverLive?: boolean
}

export interface ParkedSelection {
  readonly of: 'parked'
  /** Only those that failed like this; a fingerprint, from `onceward parked groups`. */
  readonly cause?: string
  readonly keys?: readonly string[]
}

const keysMax = 10_000

/** Refuses what no database should keep as a selection. */
export function assertSelection(selection: Selection): void {
  const { keys, includingSkipped } = selection
  assertNeverLive(selection)
  if (includingSkipped !== undefined && typeof includingSkipped !== 'boolean')
    throw wrong('includingSkipped is true or false')
  if (includingSkipped === true && selection.of === 'parked')
    throw wrong('what is parked was not skipped: select the log, a file or an archive')
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
  if (selection.of !== 'file') throw wrong('neverLive is said of the messages of a file')
}

function assertEdge(edge: Edge): void {
  if (edge === 'first' || edge === 'next') return
  const isPlace = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0
  if ('timestampMs' in edge ? isPlace(edge.timestampMs) : Object.values(edge.offsets).every(isPlace)) return
  throw wrong("an edge is 'first', 'next', { timestampMs } or { offsets: { partition: place } }")
}

function wrong(why: string): OncewardError {
  return new OncewardError('usage', `This cannot be selected: ${why}. Nothing was created.`)
}
