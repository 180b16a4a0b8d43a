import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RangeReader } from 'onceward'
import type { PublishedMessage, RangeReaderFactory } from 'onceward/testing'
import { toStoredJson } from '../../src/message/stored-json.ts'
import { ArchiveRangeReader } from '../../src/replay/archive/archive-range-reader.ts'
import { planArchive } from '../../src/replay/archive/plan-archive.ts'
import type { Campaign, CampaignPlan } from '../../src/replay/campaign/campaign.ts'

const consumer = { identity: { id: () => 'm1' } }
const campaign = { consumer: 'facts', liveGeneration: 1, mode: 'replay' } as Campaign
const terms = [{ name: 'facts', fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY }]

/** Dead letters as retention archives them, a file for each call of `publish`. */
export const archiveRanges: RangeReaderFactory = {
  without: {
    edges: 'a campaign on an archive takes all of it',
    'empty log': 'a campaign on an empty archive is refused',
  },
  async create() {
    const path = await mkdtemp(join(tmpdir(), 'onceward-archive-'))
    let [files, rows] = [0, 0]
    // The plan of the campaign, which its readers share.
    let plan: CampaignPlan | null = null
    const selection = { of: 'archive', path } as const
    const openReader = (): RangeReader => {
      let opened: Promise<ArchiveRangeReader> | null = null
      const inner = () => {
        opened ??= ArchiveRangeReader.open(terms, { ...campaign, plan: plan! }, selection, consumer)
        return opened
      }
      return {
        origin: path,
        async survey() {
          plan = await planArchive(terms, campaign, selection, consumer)
          return (await inner()).survey()
        },
        read: async (partition, from) => (await inner()).read(partition, from),
        close: async () => void (await (await opened)?.close()),
      }
    }
    return {
      partitions: ['archive'],
      openReader,
      async publish(messages) {
        const lines = messages.map(message => lineOf(++rows, message))
        await writeFile(join(path, `facts.deadLetters.${++files}.jsonl`), lines.join(''))
      },
      close: () => rm(path, { recursive: true, force: true }),
    }
  },
}

function lineOf(id: number, { body, headers = {}, properties = {}, key = null }: PublishedMessage): string {
  const row = {
    id: String(id),
    consumer: 'facts',
    generation: 1,
    message_id: `m${id}`,
    digest: `01${createHash('sha256').update(String(id)).digest('hex')}`,
    first_at: '2026-01-01T00:00:00Z',
    code: 'odd',
    origin: 'conformance',
    position: null,
    broker_key: key,
    body: body.toString('base64'),
  }
  const rest = JSON.stringify(row).slice(0, -1)
  return `${rest},"headers":${toStoredJson(headers)},"properties":${toStoredJson(properties)}}\n`
}
