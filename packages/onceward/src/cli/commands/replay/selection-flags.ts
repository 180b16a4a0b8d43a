import { OncewardError } from '../../../errors.ts'
import { readIsoTime } from '../../../message/iso-time.ts'
import type { HeldState } from '../../../ports/held-record.ts'
import type { Selection } from '../../../replay/campaign/selection.ts'

export interface SelectionFlags {
  from: string
  to: string
  file?: string
  neverLive?: boolean
  archive?: string
  held?: string
  key?: string[]
  cause?: string
  includingSkipped?: boolean
}

/** The selection of `replay create`. */
export function selectionOf(flags: SelectionFlags): Selection {
  const { from, to, file, neverLive, archive, held, key, cause, includingSkipped } = flags
  const keys = {
    ...(key !== undefined && { keys: key }),
    ...(includingSkipped && { includingSkipped }),
  }
  const others = [file, archive, held].filter(one => one !== undefined)
  if (from === 'parked') {
    if (others.length > 0 || to !== 'now') throw wrong('--from parked takes only --cause and --key')
    return { of: 'parked', ...keys, ...(cause !== undefined && { cause }) }
  }
  if (cause !== undefined) throw wrong('--cause requires --from parked')
  if (neverLive && file === undefined) throw wrong('--never-live requires --file')
  if (others.length > 1) throw wrong('pass only one of --file, --archive and --held')
  if (archive !== undefined && (from !== 'first' || to !== 'now'))
    throw wrong('an archive is read whole: pass the file of one pass to read less, or --key in a repair')
  if (archive !== undefined) return { of: 'archive', path: archive, ...keys }
  if (file !== undefined) return { of: 'file', path: file, ...(neverLive && { neverLive }), ...keys }
  if (held !== undefined) return { of: 'held', states: held.split(',') as HeldState[], ...keys }
  return { of: 'log', start: edge(from, '--from'), end: edge(to, '--to'), ...keys }
}

type Edge = Extract<Selection, { of: 'log' }>['start']

function edge(text: string, flag: string): Edge {
  if (text === 'first') return 'first'
  if (text === 'now') return 'next'
  if (text.includes('=')) return { offsets: Object.fromEntries(text.split(',').map(one => place(one, flag))) }
  const time = readIsoTime(text)
  if (typeof time !== 'string') return { timestampMs: time.ms }
  throw wrong(
    `${flag} must be first, now, parked (--from), an ISO time with its zone (2026-11-15T08:00:00Z), or partition=offset,…`,
  )
}

function place(text: string, flag: string): [string, number] {
  const at = text.lastIndexOf('=')
  const offset = text.slice(at + 1)
  if (at < 1 || !/^\d{1,15}$/.test(offset)) throw wrong(`${flag}: "${text}" is not partition=offset`)
  return [text.slice(0, at), Number(offset)]
}

function wrong(why: string): OncewardError {
  return new OncewardError('usage', `${why}. Nothing was created.`)
}
