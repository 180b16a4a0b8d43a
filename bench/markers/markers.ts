import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedPostgres } from '../../packages/onceward/src/runtime/embedded/index.ts'
import { postgresSettings } from '../../scripts/services/postgres.ts'
import { median } from '../median.ts'
import { type PreparedPlace, preparePlace } from '../place.ts'
import type { IdOrder } from '../workload.ts'
import { loadMarkers } from './load-markers.ts'
import { MarkerSide, type Round } from './marker-side.ts'

/** What one consumer's markers of the past cost its present ones. */
export interface MarkerCost {
  readonly markers: number
  readonly ids: IdOrder
  readonly settings: SettingsName
  /** Whether a CHECKPOINT came before each round: the first change of a page after one is written whole. */
  readonly checkpoint: boolean
  readonly empty: Costs
  readonly full: Costs
}

/** For each marker; medians of the rounds. */
export interface Costs {
  readonly rate: number
  readonly walBytes: number
  readonly fullPages: number
  readonly pagesRead: number
}

interface MarkersPlan {
  readonly rounds: number
  readonly count: number
  readonly markerRows: number
}

/** Those of the services' script, and what docs/operations.md recommends for a server with this memory. */
const settings = {
  services: postgresSettings,
  recommended: {
    ...postgresSettings,
    shared_buffers: '4GB',
    max_wal_size: '16GB',
    checkpoint_timeout: '30min',
    wal_compression: 'pglz',
  },
}

export type SettingsName = keyof typeof settings

/**
 * A database with all markers and one with none, on one server of its own for each list of settings. They take
 * turns, since loading takes minutes and the machine is not the same after them.
 */
export async function measureMarkers(
  plan: MarkersPlan,
  say: (line: string) => void,
): Promise<readonly MarkerCost[]> {
  const measured: MarkerCost[] = []
  for (const name of ['services', 'recommended'] as const) {
    await using server = await startServer(settings[name])
    const places = {
      full: await preparePlace(['postgres'], server.url),
      empty: await preparePlace(['postgres'], server.url),
    }
    for (const ids of ['ordered', 'random'] as const)
      measured.push(...(await measureIds(places, name, ids, plan, say)))
    for (const place of Object.values(places)) await place.drop()
  }
  return measured
}

interface Places {
  readonly full: PreparedPlace
  readonly empty: PreparedPlace
}

async function measureIds(
  places: Places,
  name: SettingsName,
  ids: IdOrder,
  { rounds, count, markerRows }: MarkersPlan,
  say: (line: string) => void,
): Promise<readonly MarkerCost[]> {
  for (const place of Object.values(places)) await place.reset()
  const sides = { full: new MarkerSide(places.full, count), empty: new MarkerSide(places.empty, count) }
  try {
    for (const side of Object.values(sides)) await side.round(ids, true)
    say(`${name} settings: writing ${markerRows.toLocaleString('en-US')} markers with ${ids} ids`)
    await loadMarkers(places.full.pool, ids, markerRows)
    const found = new Map([true, false].map(checkpoint => [checkpoint, { full: [], empty: [] } as Found]))
    for (let round = 0; round < rounds; round++) {
      for (const [checkpoint, lists] of found) {
        for (const side of round % 2 === 0 ? (['full', 'empty'] as const) : (['empty', 'full'] as const))
          lists[side].push(await sides[side].round(ids, checkpoint))
        const [full, empty] = [lists.full.at(-1)!, lists.empty.at(-1)!]
        say(
          `${ids} ids, ${checkpoint ? 'after' : 'without'} CHECKPOINT  none ${Math.round(empty.rate)}/s  all ${Math.round(full.rate)}/s  ${full.walBytes.toFixed(0)} bytes of WAL`,
        )
      }
    }
    return [...found].map(([checkpoint, { full, empty }]) => ({
      markers: markerRows,
      ids,
      settings: name,
      checkpoint,
      full: costsOf(full),
      empty: costsOf(empty),
    }))
  } finally {
    for (const side of Object.values(sides)) await side.end()
  }
}

interface Found {
  readonly full: Round[]
  readonly empty: Round[]
}

function costsOf(rounds: readonly Round[]): Costs {
  const of = (value: (round: Round) => number) => median(rounds.map(value))
  return {
    rate: of(({ rate }) => rate),
    walBytes: of(({ walBytes }) => walBytes),
    fullPages: of(({ fullPages }) => fullPages),
    pagesRead: of(({ pagesRead }) => pagesRead),
  }
}

async function startServer(chosen: Readonly<Record<string, string | number>>) {
  const folder = mkdtempSync(join(tmpdir(), 'onceward-bench-'))
  chmodSync(folder, 0o755)
  const server = await startEmbeddedPostgres({ dataDir: join(folder, 'data'), settings: chosen })
  return {
    url: server.url,
    async [Symbol.asyncDispose]() {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
