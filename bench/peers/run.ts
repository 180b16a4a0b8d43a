import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { connect } from 'amqplib'
import pg from 'pg'
import { openKafkaLogs } from '../logs/kafka.ts'
import { keyCount, type Load, sumOf } from '../workload.ts'
import type { PeerPlace } from './peer.ts'
import type { ListedPeer } from './peers.ts'

const entry = fileURLToPath(new URL('./process.ts', import.meta.url))
const pollMs = 10

/** How far a run has come, by what is committed in the database. */
export interface Progress {
  readonly atMs: number
  /** From 0 to 1; above 1 when effects were doubled. */
  readonly share: number
}

/** One load for one peer in a database of its own, observed from outside. */
export class PeerRun {
  readonly #peer: ListedPeer
  readonly #place: PeerPlace
  readonly #load: Load
  readonly #client: pg.Client
  #child: ChildProcess | null = null

  private constructor(peer: ListedPeer, place: PeerPlace, load: Load, client: pg.Client) {
    this.#peer = peer
    this.#place = place
    this.#load = load
    this.#client = client
  }

  /** Fills the queue and lets the server write everything out. */
  static async prepare(peer: ListedPeer, place: PeerPlace, load: Load): Promise<PeerRun> {
    const client = new pg.Client({ connectionString: place.databaseUrl })
    await client.connect()
    const run = new PeerRun(peer, place, load, client)
    const counters = load.keys === 'distinct' ? load.count : keyCount
    await client.query('insert into counter (key) select generate_series(0, $1::int - 1)', [counters])
    await client.query('analyze counter')
    const [code] = await once(run.#fork('fill', JSON.stringify(load)), 'exit')
    if (code !== 0) throw new Error(`${peer.name}: filling ended with ${code}`)
    await client.query('checkpoint')
    return run
  }

  start(start: 'first' | 'after a kill'): void {
    this.#child = this.#fork(start)
  }

  /** kill -9, which the process cannot notice. */
  async kill(): Promise<void> {
    const child = this.#child
    this.#child = null
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }

  /** Resolves at the first look at which the share is reached, or with the last look at the deadline. */
  async until(share: number, timeoutMs: number): Promise<Progress> {
    const deadline = performance.now() + timeoutMs
    for (;;) {
      const progress = await this.#look()
      if (progress.share >= share || progress.atMs > deadline) return progress
      const code = this.#child?.exitCode ?? null
      if (code !== null) throw new Error(`${this.#peer.name} ended with ${code}`)
      await sleep(pollMs)
    }
  }

  /** Of a load with distinct keys: effects that are missing, and effects beyond the first of a message. */
  async wrong(): Promise<{ lost: number; doubled: number }> {
    const { rows } = await this.#client.query(`
      select count(*) filter (where total = 0)::int as lost,
        coalesce(sum(total / (1 + key % 3) - 1) filter (where total > 0), 0)::int as doubled from counter`)
    return rows[0]
  }

  async end(): Promise<void> {
    await this.kill()
    await this.#client.end()
    if (this.#peer.reads === 'rabbitmq') await deleteQueue(this.#place)
    if (this.#peer.reads === 'kafka') await deleteTopic(this.#place)
  }

  async #look(): Promise<Progress> {
    const { rows } = await this.#client.query('select sum(total)::float8 as sum from counter')
    return { atMs: performance.now(), share: rows[0].sum / sumOf(this.#load.count) }
  }

  #fork(...args: string[]): ChildProcess {
    const { module, name } = this.#peer
    return fork(entry, [module, name, JSON.stringify(this.#place), ...args], {
      execArgv: ['--conditions=@onceward/source', '--no-warnings'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
  }
}

async function deleteQueue({ rabbitmqUrl, queue }: PeerPlace): Promise<void> {
  const connection = await connect(rabbitmqUrl!)
  const channel = await connection.createChannel()
  await channel.deleteQueue(queue)
  await connection.close()
}

async function deleteTopic({ kafkaBootstrap, queue }: PeerPlace): Promise<void> {
  const logs = openKafkaLogs(kafkaBootstrap!)
  await logs.delete(queue, [])
  await logs.close()
}
