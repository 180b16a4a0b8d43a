import pg from 'pg'
import { type PreparedPlace, tables } from '../place.ts'
import type { Load } from '../workload.ts'
import type { PeerPlace } from './peer.ts'
import type { ListedPeer } from './peers.ts'
import { PeerRun } from './run.ts'

/**
 * A database for each run, copied from one that has the tables, so that no peer pays for another's rows. Each
 * peer creates its own schema: Onceward would refuse a copy of its tables as a restored database.
 */
export class PeerPlaces {
  readonly #place: PreparedPlace
  readonly #redisUrl: string
  readonly #template: string
  readonly #admin: pg.Client
  #runs = 0

  private constructor(place: PreparedPlace, redisUrl: string, template: string, admin: pg.Client) {
    this.#place = place
    this.#redisUrl = redisUrl
    this.#template = template
    this.#admin = admin
  }

  static async open(place: PreparedPlace, redisUrl: string): Promise<PeerPlaces> {
    const admin = new pg.Client({ connectionString: urlOf(place, 'postgres') })
    await admin.connect()
    const template = `${new URL(place.databaseUrl).pathname.slice(1)}_peers`
    await admin.query(`create database ${template}`)
    const client = new pg.Client({ connectionString: urlOf(place, template) })
    await client.connect()
    await client.query(tables)
    await client.end()
    return new PeerPlaces(place, redisUrl, template, admin)
  }

  async with<T>(peer: ListedPeer, load: Load, work: (run: PeerRun) => Promise<T>): Promise<T> {
    const name = `${this.#template}_${++this.#runs}`
    await this.#admin.query(`create database ${name} template ${this.#template}`)
    const { rabbitmqUrl, streamUrl, kafkaBootstrap } = this.#place
    const place: PeerPlace = {
      databaseUrl: urlOf(this.#place, name),
      rabbitmqUrl,
      streamUrl,
      kafkaBootstrap,
      redisUrl: this.#redisUrl,
      queue: name,
    }
    const run = await PeerRun.prepare(peer, place, load)
    try {
      return await work(run)
    } finally {
      await run.end()
      await this.#admin.query(`drop database ${name} with (force)`)
    }
  }

  async close(): Promise<void> {
    await this.#admin.query(`drop database ${this.#template} with (force)`)
    await this.#admin.end()
  }
}

function urlOf({ databaseUrl }: PreparedPlace, database: string): string {
  return Object.assign(new URL(databaseUrl), { pathname: `/${database}` }).href
}
