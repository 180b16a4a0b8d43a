import { ensureRedis, stopRedis } from '../../scripts/services/redis.ts'
import { median } from '../median.ts'
import type { PreparedPlace } from '../place.ts'
import type { IdOrder, Load } from '../workload.ts'
import { installPeers, versionOf } from './install.ts'
import { type ListedPeer, listPeers } from './peers.ts'
import { PeerPlaces } from './places.ts'
import type { PeerRun } from './run.ts'

export interface PeersPlan {
  readonly rounds: number
  readonly roles: readonly string[] | null
  readonly peerCount: number
  readonly slowPeerCount: number
  readonly peerKills: number
}

export interface KillOutcome {
  readonly lost: number
  readonly doubled: number
  /** From the second start until everything was applied; null when it was not by the deadline. */
  readonly recoverySeconds: number | null
  /** Share of the messages that had their effect when the process was killed. */
  readonly killedAt: number
}

export interface PeerResult {
  readonly name: string
  readonly version: string | null
  readonly reads: ListedPeer['reads']
  readonly configuration: string
  /** Messages per second: the lower median of ordered and random ids. */
  readonly rate: number
  readonly rates: { readonly [ids in IdOrder]?: readonly number[] }
  /** Lost and doubled effects of all kills together. */
  readonly wrongAfterKill: number
  readonly kills: readonly KillOutcome[]
  /** Runs that ended with an error, which stands in the output of the bench. */
  readonly failedRuns: number
}

/** The first part of the messages warms the process up; the rate is that of the rest. */
const warmShare = 0.2
const killShare = 0.4
const runTimeoutMs = 300_000
const recoveryTimeoutMs = 90_000

/** Rounds in turns over all peers, each beginning with another one; the kills come after the rates. */
export async function measurePeers(
  place: PreparedPlace,
  plan: PeersPlan,
  say: (line: string) => void,
): Promise<readonly PeerResult[]> {
  await installPeers(say)
  const redis = await ensureRedis({ log: say })
  if ('unavailable' in redis) throw new Error(`redis is needed but ${redis.unavailable}`)
  const places = await PeerPlaces.open(place, redis.url)
  try {
    const entries = (await listPeers(plan.roles)).map(peer => new PeerEntry(peer, places, plan, say))
    for (let round = 1; round <= plan.rounds; round++)
      for (const entry of rotated(entries, round * 5)) await entry.attempt(() => entry.measureRound(round))
    for (let round = 1; round <= plan.peerKills; round++)
      for (const entry of entries) await entry.attempt(() => entry.killOnce(round))
    return entries.map(entry => entry.result())
  } finally {
    await places.close()
    await stopRedis()
  }
}

class PeerEntry {
  readonly #peer: ListedPeer
  readonly #places: PeerPlaces
  readonly #plan: PeersPlan
  readonly #say: (line: string) => void
  readonly #rates: { [ids in IdOrder]?: number[] } = {}
  readonly #kills: KillOutcome[] = []
  #failedRuns = 0

  constructor(peer: ListedPeer, places: PeerPlaces, plan: PeersPlan, say: (line: string) => void) {
    this.#peer = peer
    this.#places = places
    this.#plan = plan
    this.#say = say
  }

  /** One tool's failure does not end the run of the others. */
  async attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.#failedRuns++
      this.#say(`failed  ${this.#peer.name}  ${(error as Error).stack}`)
    }
  }

  async measureRound(round: number): Promise<void> {
    const orders: readonly IdOrder[] = this.#peer.storesIds ? ['ordered', 'random'] : ['ordered']
    for (const ids of orders) {
      const rate = await this.#measureOne({ ids, round, count: this.#count })
      this.#say(`round ${round}  ${this.#peer.name}, ${ids} ids  ${Math.round(rate)}/s`)
      this.#rates[ids] = [...(this.#rates[ids] ?? []), rate]
    }
  }

  async killOnce(round: number): Promise<void> {
    const load: Load = { ids: 'random', round: 100 + round, count: this.#count, keys: 'distinct' }
    const outcome = await this.#places.with(this.#peer, load, async run => {
      run.start('first')
      await run.until(killShare, runTimeoutMs)
      await run.kill()
      const killedAt = (await run.until(0, 0)).share
      if (killedAt >= 1) throw new Error(`${this.#peer.name} was done before it was killed`)
      const again = performance.now()
      run.start('after a kill')
      const { share, atMs } = await this.#settled(run)
      const recoverySeconds = share < 1 ? null : (atMs - again) / 1_000
      return { ...(await run.wrong()), recoverySeconds, killedAt }
    })
    this.#kills.push(outcome)
    this.#say(`kill ${round}  ${this.#peer.name}  ${JSON.stringify(outcome)}`)
  }

  result(): PeerResult {
    const { name, packageName, reads, configuration } = this.#peer
    const medians = Object.values(this.#rates).map(median)
    return {
      name,
      version: packageName === null ? null : versionOf(packageName),
      reads,
      configuration,
      rate: medians.length === 0 ? 0 : Math.round(Math.min(...medians)),
      rates: this.#rates,
      wrongAfterKill: this.#kills.reduce((sum, { lost, doubled }) => sum + lost + doubled, 0),
      kills: this.#kills,
      failedRuns: this.#failedRuns,
    }
  }

  get #count(): number {
    return this.#peer.handlesBatches ? this.#plan.peerCount : this.#plan.slowPeerCount
  }

  #measureOne(load: Load): Promise<number> {
    return this.#places.with(this.#peer, load, async run => {
      run.start('first')
      const warm = await run.until(warmShare, runTimeoutMs)
      const end = await run.until(1, runTimeoutMs)
      if (end.share !== 1) throw new Error(`${this.#peer.name}: ended at ${end.share} of the sum`)
      return ((end.share - warm.share) * load.count) / ((end.atMs - warm.atMs) / 1_000)
    })
  }

  /**
   * A doubled effect can hide a missing one in the sum, so the run ends when nothing is missing. The look
   * after that catches effects that are doubled late.
   */
  async #settled(run: PeerRun) {
    const deadline = performance.now() + recoveryTimeoutMs
    let progress = await run.until(1, recoveryTimeoutMs)
    while ((await run.wrong()).lost > 0 && performance.now() < deadline)
      progress = await run.until(Number.POSITIVE_INFINITY, 200)
    const finished = progress
    await run.until(Number.POSITIVE_INFINITY, 1_000)
    return (await run.wrong()).lost > 0 ? { ...finished, share: 0 } : { ...finished, share: 1 }
  }
}

function rotated<T>(list: readonly T[], by: number): T[] {
  const at = list.length === 0 ? 0 : by % list.length
  return [...list.slice(at), ...list.slice(0, at)]
}
