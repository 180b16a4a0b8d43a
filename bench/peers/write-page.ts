import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { PreparedPlace } from '../place.ts'
import { type Bar, barChart } from './chart.ts'
import type { PeerResult } from './measure.ts'
import { byRate, medianOf, recoveryOf, wrongOf } from './print-peers.ts'

const docs = fileURLToPath(new URL('../../docs/', import.meta.url))
const begin = '<!-- peers: written by npm run bench -- --only peers --write-docs -->'
const end = '<!-- /peers -->'

/** Replaces the measured part of docs/benchmarks.md and its chart. The words around it are written by hand. */
export async function writePeersPage(
  place: PreparedPlace,
  peers: readonly PeerResult[],
  rounds: number,
): Promise<void> {
  mkdirSync(`${docs}benchmarks`, { recursive: true })
  writeFileSync(`${docs}benchmarks/peers.svg`, barChart('Messages per second', byRate(peers).map(barOf)))
  const page = `${docs}benchmarks.md`
  const text = readFileSync(page, 'utf8')
  const [before, rest] = text.split(begin)
  const after = rest?.split(end)[1]
  if (before === undefined || after === undefined) throw new Error(`${page} has no part for the peers`)
  const { rows } = await place.pool.query("select current_setting('server_version') as version")
  const machine = machineLine(rows[0].version, rounds)
  writeFileSync(page, [before, begin, '\n\n', machine, tables(peers), end, after].join(''))
}

function barOf(peer: PeerResult): Bar {
  const wrong = peer.wrongAfterKill > 0
  return {
    label: peer.name,
    value: peer.rate,
    remark: wrong ? `(${wrongOf(peer)} after ${peer.kills.length} kills)` : '',
    kind: wrong ? 'wrong' : peer.name.startsWith('Onceward') ? 'ours' : 'right',
  }
}

function machineLine(postgres: string, rounds: number): string {
  const model = cpus()[0]?.model.trim() ?? 'unknown processor'
  const memory = Math.round(totalmem() / 2 ** 30)
  const day = new Date().toISOString().slice(0, 10)
  const server = `PostgreSQL ${postgres} with fsync on`
  return `Measured on ${day}: ${cpus().length} × ${model}, ${memory} GiB, Node ${process.versions.node},
${server}. Medians of ${rounds} rounds.

![Messages per second for each tool](benchmarks/peers.svg)

`
}

function tables(peers: readonly PeerResult[]): string {
  const kills = Math.max(...peers.map(peer => peer.kills.length))
  const rates = byRate(peers).map(peer =>
    row(
      peer.name.startsWith('Onceward') ? `**${peer.name}**` : peer.name,
      medianOf(peer, 'ordered'),
      medianOf(peer, 'random'),
      wrongOf(peer),
      recoveryOf(peer),
    ),
  )
  const configurations = peers.map(({ name, version, configuration, failedRuns }) =>
    row(
      name,
      version ?? 'this version',
      failedRuns > 0 ? `${configuration}; ${failedRuns} runs failed` : configuration,
    ),
  )
  return [
    row('messages per second', 'ordered ids', 'random ids', `wrong after ${kills} kills`, 'recovery'),
    row('---', '---', '---', '---', '---'),
    ...rates,
    '',
    row('tool', 'version', 'configuration'),
    row('---', '---', '---'),
    ...configurations,
    '\n',
  ].join('\n')
}

const row = (...columns: string[]) => `| ${columns.join(' | ')} |`
