import { createPool } from '../drivers/postgres/pool.ts'
import { readCaptured } from '../drivers/postgres/verify/read-captured.ts'
import { OncewardError } from '../errors.ts'
import { readSamples, type Sample, sampleOf } from '../review/samples/sample.ts'
import type { ContractFacts, SampleOrder } from './child/orders.ts'
import type { FedMessage } from './feed.ts'
import { generateBodies } from './generate-samples.ts'
import type { OpenBench } from './open-bench.ts'
import type { VerifyOptions } from './verify-options.ts'

export interface ReadMessages {
  readonly facts: ContractFacts
  readonly messages: readonly FedMessage[]
  readonly notes: readonly string[]
}

/** The samples as messages, with what the contract reads from each. Unreadable ones are only noted. */
export async function readMessages(options: VerifyOptions, bench: OpenBench): Promise<ReadMessages> {
  const given = await givenSamples(options)
  if (given !== null) return describe(options, bench, given, [])
  const { facts } = await describe(options, bench, [], [])
  if (options.capturedFrom !== undefined) return captured(options, bench, facts, options.capturedFrom)
  if (facts.jsonSchema === null) throw noSamples(options.file)
  const bodies = generateBodies(facts.jsonSchema, options.seed ?? 1)
  const note = `${bodies.length} messages were generated from the schema of the contract; pass samples for real ones.`
  return describe(
    options,
    bench,
    bodies.map((body, index) => sampleOf(body, index + 1)),
    [note],
  )
}

/** Messages that the user's database holds for this consumer. It is only read. */
async function captured(
  options: VerifyOptions,
  bench: OpenBench,
  { name }: ContractFacts,
  url: string,
): Promise<ReadMessages> {
  const pool = createPool(url, { max: 1 })
  const found = await readCaptured(pool, name, capturedMax).finally(() => pool.end())
  if (found.length === 0)
    throw new OncewardError('usage', `The database holds no messages for consumer ${name}. Nothing was run.`)
  const samples = found.map(({ body, ...more }, index) =>
    sampleOf({ base64: body.toString('base64'), ...more }, index + 1),
  )
  return describe(options, bench, samples, [`${found.length} messages are those that the database holds.`])
}

const capturedMax = 20

async function givenSamples({ samples }: VerifyOptions): Promise<readonly Sample[] | null> {
  if (samples === undefined) return null
  if (typeof samples === 'string') return readSamples(samples)
  return samples.map((body, index) => sampleOf(body, index + 1))
}

async function describe(
  options: VerifyOptions,
  { children }: OpenBench,
  samples: readonly Sample[],
  notes: readonly string[],
): Promise<ReadMessages> {
  const orders = samples.map(orderOf)
  const process = children.start({
    task: 'describe',
    file: options.file,
    policy: options.policy ?? null,
    databaseUrl: 'postgres://nowhere.invalid:1/none',
    logFile: null,
    serial: true,
    sizeMax: null,
    handlerEnvironment: null,
    stubPort: 0,
    allowed: [],
    trigger: null,
    action: 'die',
    samples: orders,
  })
  const facts = await process.facts.catch((error: Error) => {
    throw new OncewardError('usage', error.message)
  })
  await process.kill()
  const unreadable = facts.described.filter(({ problem }) => problem !== null)
  const messages = facts.described.flatMap((described, index) => {
    const order = orders[index]!
    const wanted = options.lines === undefined || options.lines.includes(described.line)
    if (described.problem !== null || !wanted) return []
    const { base64, headers, properties, line } = order
    const key = facts.order === 'key' ? described.orderKey : order.key
    return [{ line, body: Buffer.from(base64, 'base64'), headers, properties, key, described }]
  })
  if (samples.length > 0 && messages.length === 0)
    throw new OncewardError(
      'usage',
      `None of the samples can be read: ${unreadable[0]?.problem ?? 'no line was selected'}. Nothing was run.`,
    )
  const beyond = messages.find(({ described }) => !described.bodyAlone)
  if (facts.needsLog && beyond !== undefined) throw notInFile(beyond.line)
  const left = unreadable.map(({ line, problem }) => `Sample ${line} was left out: ${problem}.`)
  return { facts, messages, notes: [...notes, ...left] }
}

function orderOf({ line, delivery }: Sample): SampleOrder {
  const { body, headers, properties, key } = delivery
  return { line, base64: Buffer.from(body).toString('base64'), headers, properties: properties as never, key }
}

function notInFile(line: number): OncewardError {
  return new OncewardError(
    'usage',
    `Sample ${line} has line breaks, or its identity or order key in headers, properties or the broker key. The contract needs a log, and verify replaces it with a file of one body per line. Nothing was run. Verify a copy of the contract whose identities come from the body.`,
  )
}

function noSamples(file: string): OncewardError {
  return new OncewardError(
    'usage',
    `No samples, and the schema of ${file} cannot be written as JSON Schema, so none can be generated. Nothing was run. Pass --samples with one message per line.`,
  )
}
