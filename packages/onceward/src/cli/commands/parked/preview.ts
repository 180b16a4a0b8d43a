import type { ParkedRow } from '../../../drivers/postgres/parking/read-parked.ts'
import type { SqlPool } from '../../../drivers/postgres/pool.ts'
import { OncewardError } from '../../../errors.ts'
import { type ParkedPreview, previewParked } from '../../../operations/parking/preview-parked.ts'
import { counted, print, table } from '../../output.ts'
import { type FilterFlags, filterOf } from './flags.ts'

export interface ActFlags extends FilterFlags {
  consumer: string
  because: string
  expect?: string
  dryRun?: boolean
}

/**
 * What an act is to take. A filter may match other rows than a minute ago, so with one the digest of what was
 * looked at must be given; numbers are exact by themselves. Null after a dry run.
 */
export async function chosen(
  pool: SqlPool,
  ids: readonly string[],
  flags: ActFlags,
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
  if (preview.rows.length === 0) refuse('Nothing matches.')
  if (ids.length > preview.rows.length)
    refuse('Not all of these numbers wait for people under this consumer.')
  if (flags.expect === undefined && ids.length === 0)
    refuse('Give --expect with the digest of the preview, or numbers.')
  if (flags.expect !== undefined && flags.expect !== preview.digest)
    refuse('The selection is not the one that was previewed.')
  return { ...preview, ids: preview.rows.map(row => row.id) }
}

export function previewText({ rows, digest, more, behind }: ParkedPreview): string {
  const waiting = behind.reduce((sum, { count }) => sum + count, 0)
  return [
    parkedTable(rows),
    '',
    `${counted(rows.length, 'message')}${more ? ', and there are more: raise --limit' : ''}`,
    ...(waiting > 0 ? [`${waiting} behind them under ${behind.length} keys`] : []),
    `digest ${digest}`,
  ].join('\n')
}

/** Where a held message came from, for people. */
export function originText({ mode, campaign }: Pick<ParkedRow, 'mode' | 'campaign'>): string {
  return campaign === null ? mode : `campaign ${campaign} (${mode})`
}

export function parkedTable(rows: readonly ParkedRow[]): string {
  if (rows.length === 0) return 'Nothing waits for people.'
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
