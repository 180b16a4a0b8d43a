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

/** The database's URL through PgBouncer in transaction mode, or why that cannot be had. */
export { ensurePgbouncer } from '../../../../scripts/services/pgbouncer.ts'
export { createDatabase, createEmptyDatabase, makeOdd, type TestDatabase } from './databases.ts'
