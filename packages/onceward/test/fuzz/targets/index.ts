import type { Target } from '../target.ts'

const groups: Readonly<Record<string, () => Promise<readonly Target[]>>> = {
  kafka: async () => (await import('./kafka.ts')).kafkaTargets,
  stream: async () => (await import('./streams.ts')).streamTargets,
  amqp: async () => (await import('./amqp.ts')).amqpTargets,
  messages: async () => (await import('./messages.ts')).messageTargets,
  texts: async () => (await import('./texts.ts')).textTargets,
  contracts: async () => (await import('./contracts.ts')).contractTargets,
  schemas: async () => (await import('./schemas.ts')).schemaTargets,
  registries: async () => (await import('./registries.ts')).registryTargets,
  events: async () => (await import('./events.ts')).eventTargets,
  console: async () => (await import('./console.ts')).consoleTargets,
  broken: async () => (await import('./broken.ts')).brokenTargets,
}

/** The targets, by the file that has them. */
const byGroup: Readonly<Record<string, readonly string[]>> = {
  kafka: ['kafka record sets', 'kafka compression', 'kafka fetch responses'],
  stream: ['stream chunks', 'amqp 1.0 messages', 'stream frames'],
  amqp: ['amqp field tables', 'amqp header frames', 'amqp deliveries'],
  messages: ['json bodies', 'messages', 'compressed bodies', 'stored json', 'iso times', 'message ids'],
  texts: [
    ...['durations and sizes', 'urls', 'policy files', 'command lines', 'lines of a file', 'archived rows'],
    'replay edges',
  ],
  schemas: ['schema frames', 'avro bodies', 'avro schemas', 'protobuf bodies', 'proto files', 'json schemas'],
  registries: ['registry answers'],
  events: ['cloud events'],
  contracts: ['contracts'],
  console: ['console searches', 'console inputs', 'console requests', 'console exports'],
}

export const targetNames: readonly string[] = Object.values(byGroup).flat()

/** These take milliseconds an input: they get a twentieth of what the others get. */
const slow: ReadonlySet<string> = new Set([
  ...['command lines', 'policy files', 'contracts', 'lines of a file'],
  ...['registry answers', 'json schemas', 'console requests'],
])

/** How many of all inputs a target gets. */
export function inputsOf(target: string, all: number, targets: readonly string[]): number {
  const weightOf = (name: string) => (slow.has(name) ? 1 : 20)
  const weights = targets.reduce((sum, name) => sum + weightOf(name), 0)
  return Math.ceil((all * weightOf(target)) / weights)
}

/** Loads only the file of the target: each thread runs one. */
export async function findTarget(name: string): Promise<Target> {
  const group = name.startsWith('test: ')
    ? 'broken'
    : Object.keys(byGroup).find(one => byGroup[one]!.includes(name))
  const target = group === undefined ? undefined : (await groups[group]!()).find(one => one.name === name)
  if (target === undefined) throw new Error(`There is no target "${name}".`)
  return target
}
