import { randomBytes } from 'node:crypto'
import pg from 'pg'
import {
  type AvailableService,
  ensureServices,
  type Service,
  type ServiceName,
  serviceNames,
} from '../../../../scripts/services/services.ts'

export { killService, startService, stopService, waitReady } from '../../../../scripts/services/services.ts'

/** Set by the test runner: why a service is missing. Absent when a single file is run by hand. */
const givenReasons = JSON.parse(process.env.ONCEWARD_UNAVAILABLE ?? 'null') as Partial<
  Record<ServiceName, string>
> | null

const known = new Map<ServiceName, Promise<Service>>()

function service(name: ServiceName): Promise<Service> {
  const reason = givenReasons?.[name]
  const found = reason
    ? Promise.resolve({ name, unavailable: reason })
    : (known.get(name) ?? ensureServices([name], { log: line => console.error(line) }).then(([one]) => one!))
  known.set(name, found)
  return found
}

async function available(name: ServiceName): Promise<AvailableService> {
  const one = await service(name)
  if ('unavailable' in one) throw new Error(`${one.unavailable} (guard the test with skipWithout('${name}'))`)
  return one
}

/** An option for `it`/`describe`: skips, with the reason, where a service cannot be had. */
export async function skipWithout(...names: ServiceName[]): Promise<{ skip?: string }> {
  for (const name of names.length > 0 ? names : serviceNames) {
    const one = await service(name)
    if ('unavailable' in one) return { skip: one.unavailable }
  }
  return {}
}

export const postgresUrl = async () => (await available('postgres')).url
export const rabbitmqUrl = async () => (await available('rabbitmq')).url
export const rabbitmqManagementUrl = async () => (await available('rabbitmq')).managementUrl
export const rabbitmqStreamUrl = async () => (await available('rabbitmq')).streamUrl
export const kafkaBootstrap = async () => (await available('kafka')).url

async function administer(url: string, sql: string): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}

/** A fresh database of a random name; `drop` also ends the sessions that are still in it. */
export async function createDatabase(): Promise<{ url: string; name: string; drop(): Promise<void> }> {
  const server = await postgresUrl()
  const name = `test_${randomBytes(6).toString('hex')}`
  await administer(server, `create database ${name}`)
  const url = new URL(server)
  url.pathname = `/${name}`
  return {
    url: url.href,
    name,
    drop: () => administer(server, `drop database if exists ${name} with (force)`),
  }
}

/** The database's URL through PgBouncer in transaction mode, or why that cannot be had. */
export { ensurePgbouncer } from '../../../../scripts/services/pgbouncer.ts'
