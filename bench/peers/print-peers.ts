import { median } from '../median.ts'
import type { IdOrder } from '../workload.ts'
import type { PeerResult } from './measure.ts'

const whole = (value: number) => Math.round(value).toLocaleString('en-US')

/** Fastest first. */
export function byRate(peers: readonly PeerResult[]): PeerResult[] {
  return [...peers].sort((a, b) => b.rate - a.rate)
}

export function medianOf({ rates }: PeerResult, ids: IdOrder): string {
  const all = rates[ids]
  return all === undefined ? '–' : whole(median(all))
}

export function wrongOf({ kills, wrongAfterKill }: PeerResult): string {
  const lost = kills.reduce((sum, kill) => sum + kill.lost, 0)
  if (kills.length === 0) return 'not measured'
  if (wrongAfterKill === 0) return '0'
  const doubled = wrongAfterKill - lost
  return [lost > 0 ? `${whole(lost)} missing` : '', doubled > 0 ? `${whole(doubled)} doubled` : '']
    .filter(part => part !== '')
    .join(', ')
}

/** The median of the kills after which everything was applied in time. */
export function recoveryOf({ kills }: PeerResult): string {
  const seconds = kills.flatMap(({ recoverySeconds }) => recoverySeconds ?? [])
  if (kills.length === 0) return 'not measured'
  const late = kills.length - seconds.length
  if (seconds.length === 0) return `not within 90 s`
  return `${median(seconds).toFixed(1)} s${late > 0 ? ` (${late} not within 90 s)` : ''}`
}

export function peerLines(peers: readonly PeerResult[]): string[] {
  const line = (name: string, ...columns: string[]) =>
    `  ${name.padEnd(36)}${columns.map(column => column.padStart(14)).join('')}`
  return [
    line('', 'ordered ids', 'random ids', 'wrong', 'recovery'),
    ...byRate(peers).flatMap(peer => [
      line(
        `${peer.name}${peer.version === null ? '' : ` ${peer.version}`}`,
        medianOf(peer, 'ordered'),
        medianOf(peer, 'random'),
        wrongOf(peer),
        recoveryOf(peer),
      ),
      `    ${peer.configuration}${peer.failedRuns > 0 ? `; ${peer.failedRuns} runs failed` : ''}`,
    ]),
  ]
}
