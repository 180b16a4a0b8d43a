import type { ParkedRow } from '../../../drivers/postgres/parking/read-parked.ts'
import type { SqlPool } from '../../../drivers/postgres/pool.ts'
import { OncewardError } from '../../../errors.ts'
import { type ParkedPreview, previewParked } from '../../../operations/parking/preview-parked.ts'
import { counted, print, table } from '../../output.ts'
import { type FilterFlags, filterOf } from './flags.ts'

export interface ParkedActFlags extends FilterFlags {
  consumer: string
  because: string
  expect?: string
  dryRun?: boolean
}

/**
 * The rows of an act; null after a dry run. A filter may match other rows than a minute ago, so it requires
 * the digest of the preview. Ids are exact.
 */
export async function confirmedSelection(
  pool: SqlPool,
  ids: readonly string[],
  flags: ParkedActFlags,
): Promise<(ParkedPreview & { readonly ids: readonly string[] }) | null> {
  const preview = await previewParked(pool, filterOf(flags, ids))
  const json = flags.json === true
  if (flags.dryRun === true) {
    print(json, { ok: true, dryRun: true, ...preview }, () => previewText(preview))
    return null
  }
  const refuse = (why: string) => {
    throw new OncewardError('usage', `${why} Nothing was changed; see "--dry-run".`)
  }
  if (preview.rows.length === 0) refuse('No messages match.')
  if (ids.length > preview.rows.length) refuse('Some of these ids are not parked messages of this consumer.')
  if (flags.expect === undefined && ids.length === 0)
    refuse('Pass --expect with the digest of the preview, or ids.')
  if (flags.expect !== undefined && flags.expect !== preview.digest)
    refuse('The selection has changed since the preview.')
  return { ...preview, ids: preview.rows.map(row => row.id) }
}

export function previewText({ rows, digest, more, behind }: ParkedPreview): string {
  const waiting = behind.reduce((sum, { count }) => sum + count, 0)
  return [
    parkedTable(rows),
    '',
    `${counted(rows.length, 'message')}${more ? ', and more match: raise --limit' : ''}`,
    ...(waiting > 0 ? [behindText(waiting, behind.length)] : []),
    `digest ${digest}`,
  ].join('\n')
}

/** `1 more message waits behind it (1 key)`. */
function behindText(waiting: number, keys: number): string {
  const verb = waiting === 1 ? 'waits' : 'wait'
  return `${counted(waiting, 'more message')} ${verb} behind them (${counted(keys, 'key')})`
}

/** Origin of a held message: its mode, or its campaign. */
export function originText({ mode, campaign }: Pick<ParkedRow, 'mode' | 'campaign'>): string {
  return campaign === null ? mode : `campaign ${campaign} (${mode})`
}

export function parkedTable(rows: readonly ParkedRow[]): string {
  if (rows.length === 0) return 'No messages need attention.'
  return table(
    [
      'id',
      'consumer',
      'state',
      'cause',
      'code',
      'message',
      'key',
      'attempts',
      'seen',
      'first',
      'label',
      'assignee',
      'from',
      'reason',
    ],
    rows.map(r => [
      r.id,
      r.consumer,
      r.state,
      r.cause,
      r.code,
      r.messageId,
      r.key,
      r.attempts,
      r.seen,
      r.firstAt.toISOString().slice(0, 19),
      r.label,
      r.assignee,
      originText(r),
      r.fixWaits === null ? r.reason.slice(0, 60) : `fix waits for approval: ${r.reason.slice(0, 60)}`,
    ]),
  )
}
