import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Admin } from '@platformatic/kafka'
import { ensureServices } from '../scripts/services/services.ts'
import { median } from './median.ts'
import type { PreparedPlace } from './place.ts'

/** What `onceward check` takes, the start of its process included, in milliseconds. */
export interface CheckTimes {
  readonly contracts: number
  readonly kinds: readonly { readonly kind: string; readonly one: number; readonly all: number }[]
}

const contracts = 200
/** Several consumers read a topic, each in a group of its own. */
const topics = Array.from({ length: 20 }, (_, index) => `onceward-bench-check-${process.pid}-${index}`)
const main = fileURLToPath(new URL('../packages/onceward/src/cli/main.ts', import.meta.url))
const run = promisify(execFile)

/**
 * One contract and two hundred, in turn: as written, and compared with a broker and the database. Each has a
 * queue of its own; ten share a topic.
 */
export async function measureCheck(place: PreparedPlace, rounds: number): Promise<CheckTimes> {
  const [rabbitmq] = await ensureServices(['rabbitmq'], { log: () => {} })
  const managementUrl = rabbitmq !== undefined && 'managementUrl' in rabbitmq ? rabbitmq.managementUrl : ''
  const folder = mkdtempSync(join(tmpdir(), 'onceward-bench-check-'))
  const policy = join(folder, 'policy.yaml')
  writeFileSync(policy, policyText())
  const kinds = [
    { kind: 'as written', source: `{ kind: 'rabbitmq', queue }`, flags: [] },
    { kind: 'with a policy file', source: `{ kind: 'rabbitmq', queue }`, flags: ['--policy', policy] },
    { kind: 'live on RabbitMQ', source: `{ kind: 'rabbitmq', queue }`, flags: ['--live'] },
    {
      kind: 'live on Kafka',
      source: `{ kind: 'kafka', topic, start: 'earliest' }`,
      flags: ['--live'],
    },
  ]
  const env = {
    ...process.env,
    ONCEWARD_DATABASE_URL: place.databaseUrl,
    ONCEWARD_RABBITMQ_URL: place.rabbitmqUrl ?? '',
    ONCEWARD_RABBITMQ_MANAGEMENT_URL: managementUrl ?? '',
    ONCEWARD_KAFKA_BOOTSTRAP: place.kafkaBootstrap ?? '',
  }
  const timeOf = async (files: readonly string[], flags: readonly string[]) => {
    const began = performance.now()
    const args = ['--conditions=@onceward/source', main, 'check', '--json', ...flags, ...files]
    await run(process.execPath, args, { env, maxBuffer: 2 ** 28 }).catch(refused)
    return performance.now() - began
  }
  const admin = new Admin({
    clientId: 'onceward-bench',
    bootstrapBrokers: place.kafkaBootstrap!.split(','),
    retries: 10,
  })
  await admin.createTopics({ topics, partitions: 4, replicas: 1 })
  try {
    const measured = []
    for (const { kind, source, flags } of kinds) {
      const files = Array.from({ length: contracts }, (_, index) =>
        writeContract(folder, kind, source, index),
      )
      await timeOf(files, flags)
      const [one, all]: [number[], number[]] = [[], []]
      for (let round = 0; round < rounds; round++) {
        one.push(await timeOf(files.slice(0, 1), flags))
        all.push(await timeOf(files, flags))
      }
      measured.push({ kind, one: median(one), all: median(all) })
    }
    return { contracts, kinds: measured }
  } finally {
    await admin.deleteTopics({ topics })
    await admin.close()
    rmSync(folder, { recursive: true })
  }
}

/** Findings are the point of a check and end it with 1; anything else is a broken measurement. */
function refused(error: { code?: unknown }): void {
  if (error.code !== 1) throw error
}

function policyText(): string {
  const named = Array.from({ length: contracts }, (_, index) => `  checked_${index}:\n    owner: bench\n`)
  return `consumers:\n${named.join('')}`
}

function writeContract(folder: string, kind: string, source: string, index: number): string {
  const path = join(folder, `${kind.replaceAll(' ', '-')}-${index}.ts`)
  writeFileSync(
    path,
    `const queue: string = 'onceward-bench-check-${index}'
const topic: string = '${topics[index % topics.length]}'
export default {
  name: 'checked_${index}', owner: 'bench', risk: 'money', source: ${source},
  identity: { id: (message: { id: string }) => message.id, businessKey: (message: { order: string }) => message.order },
  retention: { sourceKeeps: '14d' }, replay: { window: '7d' }, failure: { attemptsMax: 8 }, handle() {},
}
`,
  )
  return path
}
