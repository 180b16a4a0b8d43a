import { mkdirSync, writeFileSync } from 'node:fs'
import { docs, machineLine, replacePart } from '../measured-page.ts'
import type { PreparedPlace } from '../place.ts'
import { type Bar, barChart } from './chart.ts'
import type { PeerResult } from './measure.ts'
import { byRate, medianOf, recoveryOf, wrongOf } from './print-peers.ts'

const chart = '![Messages per second for each tool](benchmarks/peers.svg)'

/** Replaces the table of the peers in docs/benchmarks.md and its chart. */
export async function writePeersPage(
  place: PreparedPlace,
  peers: readonly PeerResult[],
  rounds: number,
): Promise<void> {
  mkdirSync(`${docs}benchmarks`, { recursive: true })
  writeFileSync(`${docs}benchmarks/peers.svg`, barChart('Messages per second', byRate(peers).map(barOf)))
  replacePart('peers', `${await machineLine(place, rounds)}\n${chart}\n\n${tables(peers)}`)
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
