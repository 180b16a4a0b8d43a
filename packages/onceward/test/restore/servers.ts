import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPool } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/runtime/embedded/index.ts'
import { unprivilegedUser } from '../../src/runtime/embedded/unprivileged-user.ts'

const small = {
  shared_buffers: '16MB',
  max_connections: 60,
  min_wal_size: '32MB',
  max_wal_size: '64MB',
  wal_level: 'replica',
  hot_standby: 'on',
  max_wal_senders: 4,
  log_min_messages: 'warning',
  fsync: 'off',
}

type Settings = Record<string, string | number>

/**
 * Servers of one test: a primary, and copies of it that follow it, are restored from its archive, or are cut
 * off from it.
 */
export class Servers {
  readonly #folder = mkdtempSync(join(tmpdir(), 'onceward-copies-'))
  readonly #running: EmbeddedPostgres[] = []
  readonly archive = join(this.#folder, 'archive')
  #copies = 0

  constructor() {
    chmodSync(this.#folder, 0o755)
    mkdirSync(this.archive)
    own(this.archive)
  }

  /** Archives its log, so that copies need nothing but the archive. */
  async primary(settings: Settings = {}): Promise<EmbeddedPostgres> {
    return this.#start(join(this.#folder, 'primary'), {
      archive_mode: 'on',
      archive_command: `cp %p ${this.archive}/%f`,
      ...settings,
    })
  }

  /** A base backup of a running server: its files, between the calls that make them a backup. */
  async copy(from: EmbeddedPostgres): Promise<string> {
    const folder = join(this.#folder, `copy${this.#copies++}`)
    const pool = createPool(from.url, { max: 1 })
    const client = await pool.connect()
    try {
      await client.query(`select pg_backup_start('copy', true)`)
      const copied = spawnSync('cp', ['-a', from.dataDir, folder])
      if (copied.status !== 0 && !/No such file/.test(String(copied.stderr)))
        throw new Error(`not copied: ${copied.stderr}`)
      const { rows } = await client.query('select labelfile, spcmapfile from pg_backup_stop(false)')
      writeFileSync(join(folder, 'backup_label'), rows[0].labelfile as string)
      own(join(folder, 'backup_label'))
    } finally {
      client.release()
      await pool.end()
    }
    for (const left of ['postmaster.pid', 'postmaster.opts', 'pg_wal'])
      rmSync(join(folder, left), { recursive: true, force: true })
    mkdirSync(join(folder, 'pg_wal', 'archive_status'), { recursive: true })
    own(join(folder, 'pg_wal'))
    return folder
  }

  /** A standby on such a copy, that streams from the address given and has nothing else. */
  async standby(folder: string, primaryUrl: string, settings: Settings = {}): Promise<EmbeddedPostgres> {
    this.#signal(folder, 'standby.signal')
    const { hostname, port, username, password } = new URL(primaryUrl)
    return this.#start(folder, {
      archive_mode: 'off',
      primary_conninfo: `host=${hostname} port=${port} user=${username} password=${password} application_name=standby`,
      wal_retrieve_retry_interval: '100ms',
      ...settings,
    })
  }

  /** A restore to a moment: the archive up to there, then a timeline of its own. */
  async restored(folder: string, settings: Settings): Promise<EmbeddedPostgres> {
    this.#signal(folder, 'recovery.signal')
    const server = await this.#start(folder, {
      archive_mode: 'off',
      restore_command: `cp ${this.archive}/%f %p`,
      recovery_target_action: 'promote',
      ...settings,
    })
    await until(
      'the restore is over',
      async () => (await ask(server, 'select pg_is_in_recovery() as x')) === false,
    )
    return server
  }

  /** The same folder again, at another address or the same. */
  again(folder: string, settings: Settings = {}): Promise<EmbeddedPostgres> {
    return this.#start(folder, settings)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.#running.reverse()) await server.stop().catch(() => {})
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #signal(folder: string, name: string): void {
    writeFileSync(join(folder, name), '')
    own(join(folder, name))
  }

  async #start(dataDir: string, settings: Settings): Promise<EmbeddedPostgres> {
    const { port, ...rest } = settings
    const server = await startEmbeddedPostgres({
      dataDir,
      settings: { ...small, ...rest },
      ...(port !== undefined && { port: Number(port) }),
    })
    this.#running.push(server)
    return server
  }
}

/** Waits until the standby shows everything the primary has committed. */
export async function caughtUp(primary: EmbeddedPostgres, standby: EmbeddedPostgres): Promise<void> {
  const end = await ask(primary, 'select pg_current_wal_flush_lsn()::text')
  await until(
    'the standby has caught up',
    async () => (await ask(standby, `select pg_last_wal_replay_lsn() >= '${end}'::pg_lsn`)) === true,
  )
}

/** The first column of the first row. */
export async function ask(server: EmbeddedPostgres, text: string): Promise<unknown> {
  const pool = createPool(server.url, { max: 1 })
  try {
    const { rows } = await pool.query(text)
    return Object.values(rows[0] ?? {})[0]
  } finally {
    await pool.end()
  }
}

function own(path: string): void {
  const user = unprivilegedUser()
  if (user) spawnSync('chown', ['-R', `${user.uid}:${user.gid}`, path])
}
