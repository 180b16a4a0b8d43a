import type { SqlPool } from '../../../drivers/postgres/pool.ts'
import { OncewardError } from '../../../errors.ts'
import { listParked } from '../../../operations/parking/list-parked.ts'
import { type ParkedPreview, previewParked } from '../../../operations/parking/preview-parked.ts'
import { whyUnknownConsumer } from '../../../telemetry/consumer-names.ts'
import { oneLine, print } from '../../output.ts'
import { type FilterFlags, filterOf } from './flags.ts'
import { previewText } from './summary.ts'

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
  verb: string,
): Promise<(ParkedPreview & { readonly ids: readonly string[] }) | null> {
  const preview = await previewParked(pool, filterOf(flags, ids))
  const json = flags.json === true
  if (flags.dryRun === true) {
    print(json, { ok: true, dryRun: true, ...preview }, () =>
      previewText(preview, nextCommand(verb, preview, ids, flags)),
    )
    return null
  }
  const refuse = (why: string) => {
    throw new OncewardError('usage', `${why} Nothing was changed; see "--dry-run".`)
  }
  if (preview.rows.length === 0 || ids.length > preview.rows.length)
    refuse(await whyMissing(pool, ids, preview, flags))
  if (flags.expect === undefined && ids.length === 0)
    refuse('Pass --expect with the digest of the preview, or ids.')
  if (flags.expect !== undefined && flags.expect !== preview.digest)
    refuse('The selection has changed since the preview.')
  return { ...preview, ids: preview.rows.map(row => row.id) }
}

/** Ids of another consumer, a mistyped name, or nothing. */
async function whyMissing(
  pool: SqlPool,
  ids: readonly string[],
  { rows }: ParkedPreview,
  { consumer }: ParkedActFlags,
): Promise<string> {
  const others = ids.length === 0 ? [] : await listParked(pool, filterOf({ limit: String(ids.length) }, ids))
  const foreign = others.find(row => row.consumer !== consumer)
  if (foreign !== undefined)
    return `Message ${foreign.id} belongs to consumer ${oneLine(foreign.consumer)}: pass --consumer ${oneLine(foreign.consumer)}.`
  if (rows.length > 0) return 'Some of these ids are not parked messages of this consumer.'
  const unknown = await whyUnknownConsumer(pool, consumer)
  return unknown === null ? 'No messages match.' : oneLine(unknown)
}

/** The act after its preview, ready to be pasted. */
function nextCommand(
  verb: string,
  { rows, digest }: ParkedPreview,
  ids: readonly string[],
  flags: ParkedActFlags,
): string | null {
  if (rows.length === 0) return null
  const asked = ids.length > 0 ? ids.join(' ') : 'with the same options'
  return `onceward parked ${verb} ${asked} --consumer ${oneLine(flags.consumer)} --because … --expect ${digest}`
}
