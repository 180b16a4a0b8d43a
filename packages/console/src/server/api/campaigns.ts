import { type Consumer, openReplay, type Replay } from 'onceward'
import { openGuardedPool, type SqlPool } from 'onceward/operations'
import { Problem } from '../http/problem.ts'
import type { ConsoleOptions } from '../options.ts'

type Contracts = ReadonlyMap<string, Consumer<never, never>>

/** A campaign that this process runs, or how it ended here. The database has everything else. */
export interface Conducted {
  readonly ended: boolean
  readonly text: string | null
}

/** Who asks for a step, and the command that does the same. */
export interface CampaignStep {
  readonly consumer: string
  readonly actor: string
  readonly command: string
}

const conductedMax = 1_000

/**
 * Campaigns that need a contract. Creating and previewing uses the login of the console. Running, comparing
 * and swapping uses a login of its own, which is a console too: its sessions name the person.
 */
export class Campaigns {
  readonly #options: ConsoleOptions
  readonly #contracts: Contracts
  readonly #stopping = new AbortController()
  readonly #conducted = new Map<string, { ended: boolean; text: string | null; run: Promise<void> }>()

  constructor(options: ConsoleOptions, contracts: Contracts) {
    this.#options = options
    this.#contracts = contracts
  }

  /** Whether this console can run campaigns of the consumer. */
  canRun(consumer: string): boolean {
    return this.#options.campaigns !== undefined && this.#contracts.has(consumer)
  }

  conducted(id: string): Conducted | undefined {
    return this.#conducted.get(id)
  }

  /** For steps that only read the source and call functions of the database. */
  async plan<T>(consumer: string, pool: SqlPool, step: (replay: Replay) => Promise<T>): Promise<T> {
    const { database, campaigns } = this.#options
    return this.#with(consumer, { ...campaigns, databaseUrl: database, pool }, step)
  }

  /** For steps that write the tables of the consumer. */
  async act<T>({ consumer, actor, command }: CampaignStep, step: (replay: Replay) => Promise<T>): Promise<T> {
    const databaseUrl = this.#loginOf(actor, command)
    return this.#with(consumer, { ...this.#options.campaigns, databaseUrl }, step)
  }

  /** For steps that drop the tables of a rebuild, and need no contract. */
  async drop<T>(
    { actor, command }: Omit<CampaignStep, 'consumer'>,
    step: (pool: SqlPool) => Promise<T>,
  ): Promise<T> {
    const pool = openGuardedPool(this.#loginOf(actor, command))
    return step(pool).finally(() => pool.end())
  }

  /**
   * Runs it in the background, and resolves when it has begun. If this process ends, its lease expires and
   * another process can continue.
   */
  async conduct(id: string, asked: CampaignStep): Promise<void> {
    if (this.#conducted.get(id)?.ended === false) return
    if (this.#conducted.size >= conductedMax) this.#conducted.clear()
    const { promise: begun, resolve: begin, reject: refuse } = Promise.withResolvers<void>()
    const { signal } = this.#stopping
    const note = { ended: false, text: null as string | null, run: Promise.resolve() }
    note.run = this.act(asked, replay => replay.run(id, { signal, onProgress: () => begin() }))
      .then(
        () => begin(),
        error => {
          note.text = (error as Error).message
          refuse(error)
        },
      )
      .finally(() => {
        note.ended = true
      })
    this.#conducted.set(id, note)
    await begun
  }

  /** Pauses what runs here. */
  async close(): Promise<void> {
    this.#stopping.abort()
    await Promise.all([...this.#conducted.values()].map(({ run }) => run))
  }

  #loginOf(actor: string, command: string): string {
    const { campaigns } = this.#options
    if (campaigns !== undefined) return actingUrl(campaigns.database, actor)
    throw new Problem(
      409,
      'no_campaign_login',
      `This console has no login for campaigns. Nothing was changed. Run: ${command}`,
    )
  }

  async #with<T>(
    consumer: string,
    options: Parameters<typeof openReplay>[1],
    step: (replay: Replay) => Promise<T>,
  ): Promise<T> {
    const contract = this.#contracts.get(consumer)
    if (contract === undefined)
      throw new Problem(
        409,
        'no_contract',
        `The console was started without the contract of ${consumer}. Start it with --contract, or use the command line. Nothing was changed.`,
      )
    const replay = await openReplay(contract as never, options)
    try {
      return await step(replay)
    } finally {
      await replay.close()
    }
  }
}

/** The name is a setting of the whole session. Spaces are escaped as the server expects. */
function actingUrl(database: string, actor: string): string {
  const url = new URL(database)
  const escaped = actor.replaceAll(/[\s\\]/g, '\\$&')
  const given = url.searchParams.get('options')
  const named = `-c onceward.acting_as=${escaped}`
  url.searchParams.set('options', given === null ? named : `${given} ${named}`)
  return url.href
}
