import { createHash } from 'node:crypto'
import type { Consumer } from '../../contract/define-consumer.ts'
import type { SqlTransaction } from '../../contract/handler.ts'
import { type Campaign, type CampaignPlan, refused } from '../campaign/campaign.ts'
import type { Selection } from '../campaign/selection.ts'
import { findArchive } from './find-archive.ts'
import type { NameTerm } from './names-of.ts'
import { type ArchiveScope, surveyArchive } from './survey-archive.ts'

export type ArchiveSelection = Extract<Selection, { of: 'archive' }>
export type Identified = Pick<Consumer<unknown, SqlTransaction>, 'identity'>

/** Surveys the archive, and fixes exactly these bytes. */
export async function planArchive(
  terms: readonly NameTerm[],
  campaign: Pick<Campaign, 'liveGeneration' | 'mode'>,
  selection: ArchiveSelection,
  consumer: Identified,
): Promise<CampaignPlan> {
  const { names, leftOut: beside } = await findArchive(selection.path, terms)
  const { files, leftOut, places, lines, oldestMs } = await surveyArchive(
    scopeOf(campaign, selection, consumer, terms),
    names,
  )
  const left = [...beside.list, ...leftOut.list]
  if (places.size === 0)
    throw refused(
      `The archive has no message for this campaign: ${left.map(({ what, count }) => `${count} ${what}`).join('; ') || 'it is empty'}.`,
    )
  const incarnation = createHash('sha256').update(JSON.stringify(files)).digest('hex')
  return {
    ranges: [{ partition: 'archive', incarnation, from: '0', to: String(lines) }],
    unit: 'rows',
    oldestMs,
    keys: selection.keys ?? null,
    archive: { files, leftOut: left },
  }
}

export function scopeOf(
  { liveGeneration, mode }: Pick<Campaign, 'liveGeneration' | 'mode'>,
  { path }: ArchiveSelection,
  { identity }: Identified,
  terms: readonly NameTerm[],
): ArchiveScope {
  const names = new Set(terms.map(({ name }) => name))
  return { path, names, generation: liveGeneration, mode, idsByPosition: identity.id === 'position' }
}
