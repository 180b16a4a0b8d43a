import type { Consumer } from '../../contract/define-consumer.ts'
import type { SqlTransaction } from '../../contract/handler.ts'
import { createMessageReader } from '../../message/read-message.ts'
import type { Delivery } from '../../ports/source.ts'
import { blank } from '../../review/samples/sample.ts'
import { tryIdentities } from '../../review/samples/try-identities.ts'
import { inEnvironment } from '../../runtime/fixed-environment.ts'
import type { ContractFacts, Described, SampleOrder } from './orders.ts'
import { needsLog } from './verified-consumer.ts'

/** Reads the contract's facts, and how it reads each sample. Connects to nothing. */
export async function describeContract(
  consumer: Consumer<unknown, SqlTransaction>,
  samples: readonly SampleOrder[],
): Promise<ContractFacts> {
  const described: Described[] = []
  for (const sample of samples) described.push(await describeSample(consumer, sample))
  const { name, order, dedup, settle, inbox, replay, identity, effect } = consumer
  return {
    name,
    order,
    dedup,
    needsLog: needsLog(consumer),
    settle: settle.when,
    stored: inbox.mode === 'stored',
    modes: replay.modes,
    hasBusinessKey: identity.businessKey !== undefined,
    hasExternal: Object.keys(effect?.external ?? {}).length > 0,
    declaredEffect: effect?.apply !== undefined,
    jsonSchema: jsonSchemaOf(consumer.message.schema),
    described,
  }
}

/** Libraries that can write their schema as JSON Schema offer it beside the Standard Schema. */
function jsonSchemaOf(schema: unknown): unknown {
  type Capable = { '~standard'?: { jsonSchema?: { input?: (options: { target: string }) => unknown } } }
  try {
    return (schema as Capable)?.['~standard']?.jsonSchema?.input?.({ target: 'draft-2020-12' }) ?? null
  } catch {
    return null
  }
}

type Read = ReturnType<typeof createMessageReader>

const deliveryOf = ({ line, base64, headers, properties, key }: SampleOrder): Delivery => ({
  ...blank,
  body: Buffer.from(base64, 'base64'),
  headers,
  properties,
  key,
  position: `samples/0@${line}`,
  partition: 'samples/0',
  place: { incarnation: 'samples', epoch: 0, at: String(line), next: String(line + 1) },
})

async function describeSample(
  consumer: Consumer<unknown, SqlTransaction>,
  sample: SampleOrder,
): Promise<Described> {
  const read: Read = createMessageReader(consumer)
  const delivery = deliveryOf(sample)
  const received = await read(delivery)
  const none = {
    ...{ line: sample.line, id: '', orderKey: null, bodyAlone: true },
    ...{ conflict: null, resent: null, unstable: [] },
  }
  if (!received.readable) return { ...none, problem: received.problem.text }
  const { id, orderKey } = received.envelope
  const alone = await read({ ...delivery, headers: {}, properties: {}, key: null })
  const isLine = !Buffer.from(delivery.body).includes('\n')
  const bodyAlone =
    isLine && alone.readable && alone.envelope.id === id && alone.envelope.orderKey === orderKey
  const [tried] = await tryIdentities(consumer as never, {
    samples: [{ line: sample.line, body: undefined, delivery }],
    inEnvironment,
  })
  const unstable = (tried?.depends ?? []).map(({ name, on }) => `${name} depends on the ${on}`)
  return {
    ...none,
    problem: null,
    id,
    orderKey,
    bodyAlone,
    unstable,
    ...(await variantsOf(consumer, read, delivery)),
  }
}

/** Changes one field at a time, and keeps the first message that reads as wanted. */
async function variantsOf(
  consumer: Consumer<unknown, SqlTransaction>,
  read: Read,
  delivery: Delivery,
): Promise<Pick<Described, 'conflict' | 'resent'>> {
  const first = await read(delivery)
  let conflict: string | null = null
  let resent: string | null = null
  if (!first.readable) return { conflict, resent }
  const content = (message: unknown) => JSON.stringify(consumer.identity.businessDigest?.(message as never))
  for (const body of changedBodies(delivery.body)) {
    const other = await read({ ...delivery, body })
    if (!other.readable) continue
    const { id, businessKey, orderKey } = other.envelope
    if (id === first.envelope.id) conflict ??= Buffer.from(body).toString('base64')
    else if (
      businessKey !== null &&
      businessKey === first.envelope.businessKey &&
      orderKey === first.envelope.orderKey &&
      content(other.message) === content(first.message)
    )
      resent ??= Buffer.from(body).toString('base64')
  }
  return { conflict, resent }
}

function* changedBodies(body: Uint8Array): Generator<Buffer> {
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(body).toString('utf8'))
  } catch {
    return
  }
  for (const changed of changes(value)) yield Buffer.from(JSON.stringify(changed))
}

/** The value with one leaf changed, once for each leaf. */
function* changes(value: unknown): Generator<unknown> {
  if (typeof value === 'string') yield `${value}-other`
  else if (typeof value === 'number') yield value + 1
  else if (typeof value === 'boolean') yield !value
  else if (Array.isArray(value)) {
    for (const [at, item] of value.entries())
      for (const other of changes(item)) yield value.map((one, index) => (index === at ? other : one))
  } else if (value !== null && typeof value === 'object') {
    for (const [name, item] of Object.entries(value))
      for (const other of changes(item)) yield { ...value, [name]: other }
  }
}
