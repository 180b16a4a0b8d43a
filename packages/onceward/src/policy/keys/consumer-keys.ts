import { durationMaxMs } from '../../contract/duration.ts'
import { campaignModes, risks } from '../../contract/known-names.ts'
import { inMs, type PolicyKey, same } from './policy-key.ts'

const day = 86_400_000
const mib = 1024 * 1024
const identities = {
  businessKey: 'one effect per business key, whatever the message id',
  orderKey: 'messages of one order key are applied in order of arrival; needed by order `key`',
  eventId: 'the event the message tells of',
  idempotencyKey: 'the key the sender gave the operation',
  aggregateId: 'the thing the message is about',
  aggregateVersion: 'its version',
  correlationId: 'what the message belongs to',
  causationId: 'what caused it',
  type: 'its type',
  producer: 'the program that sent it',
  schemaVersion: 'the version of its form',
}

/** Who, what and in which order. */
export const consumerKeys: readonly PolicyKey[] = [
  {
    ...same('owner'),
    kind: 'text',
    description: 'the team that answers for this consumer and its dead letters',
  },
  {
    ...same('producer'),
    kind: 'text',
    description: 'the team that sends the messages; told of broken ones. Default the owner',
  },
  { ...same('description'), kind: 'text', description: 'what it is for, in a sentence' },
  {
    ...same('risk'),
    kind: 'word',
    words: risks,
    description: 'what a wrong or lost effect costs; decides defaults',
  },
  {
    ...same('generation'),
    kind: 'count',
    min: 1,
    max: 32_767,
    description: 'with the name it names the dedup memory. Default 1',
  },
  {
    ...same('handlerVersion'),
    kind: 'text',
    description: 'recorded with every run. Default `unversioned`',
  },
  {
    ...same('identity.id'),
    kind: 'from or position',
    description: 'the message id: same id, same message; `position` only for logs whose records carry none',
  },
  ...Object.entries(identities).map(
    ([name, description]): PolicyKey => ({ ...same(`identity.${name}`), kind: 'from', description }),
  ),
  {
    ...same('identity.idTime'),
    kind: 'word',
    words: ['uuidv7', 'ulid'],
    description: 'the id itself tells when it was made',
  },
  {
    ...same('order'),
    kind: 'word',
    words: ['none', 'key', 'partition'],
    description: 'what is kept in order. Default `none`',
  },
  {
    ...same('dedup'),
    kind: 'word',
    words: ['marker', 'checkpoint', 'version'],
    description: 'what remembers that a message was applied. Default `marker`',
  },
  {
    key: 'duplicates',
    at: null,
    kind: 'word',
    words: ['skip'],
    description: 'what happens to a duplicate: it is skipped and counted, always. For readers of the file',
  },
  {
    ...same('settle.when'),
    kind: 'word',
    words: ['after effect', 'with effect', 'before effect'],
    description: 'when the source is told. Default `after effect`; `before effect` loses what is in flight',
  },
  {
    ...same('settle.lossAcceptable'),
    kind: 'text',
    description: 'why losing messages is acceptable; needed by `before effect`',
  },
  { ...same('message.digestHeaders'), kind: 'texts', description: 'headers that are part of the content' },
  { ...same('message.types'), kind: 'texts', description: 'types this consumer knows; others are parked' },
  {
    ...same('message.versions'),
    kind: 'versions',
    description: 'schema versions it can read, as a list or as `{ min, max }`; others are parked',
  },
  {
    ...same('message.tombstones'),
    kind: 'word',
    words: ['quarantine', 'handle'],
    description:
      'records without a body: set aside, or given to the handler as `null`. Default `handle` where the schema takes null, else `quarantine`',
  },
  ...limitKeys(),
  {
    ...same('batch.sizeMax'),
    kind: 'count',
    min: 1,
    max: 10_000,
    description: 'messages in a batch. Default 500',
  },
  {
    ...same('batch.inFlightMax'),
    kind: 'count',
    min: 1,
    max: 16,
    description: 'batches at a time. Default 2',
  },
  {
    ...same('batch.deliveriesMax'),
    kind: 'count',
    min: 1,
    max: 65_535,
    description: 'unsettled deliveries. Default 2000, of logs 3000',
  },
  {
    ...same('batch.bytesMax'),
    kind: 'size',
    min: 1,
    max: 2 ** 40,
    unitBytes: 1,
    description: 'their bytes. Default 64MiB',
  },
  {
    ...inMs('batch.handlerTimeout'),
    kind: 'duration',
    min: 1,
    max: 2 ** 31 - 1,
    description: 'after which a handler is aborted and its transaction rolled back. Default 10s',
  },
  {
    ...same('inbox.mode'),
    kind: 'word',
    words: ['transactional', 'stored'],
    description: 'when the work is done. Default `transactional`',
  },
  {
    ...inMs('inbox.lease'),
    kind: 'duration',
    min: 500,
    max: day,
    description: 'how long a silent worker keeps what it took. Default 30s',
  },
  {
    ...same('inbox.workers'),
    kind: 'count',
    min: 1,
    max: 64,
    description: 'batches of workers at a time. Default 2',
  },
  {
    ...same('isolation.mode'),
    kind: 'word',
    words: ['none', 'child'],
    description: 'where handlers run. Default `none`: in the process itself',
  },
  {
    ...inMs('isolation.deadline'),
    kind: 'duration',
    min: 1_000,
    max: day,
    description: 'how long the child may say nothing. Default `batch.handlerTimeout`',
  },
  {
    key: 'isolation.memoryMax',
    at: 'isolation.memoryMaxMb',
    kind: 'size',
    min: 64 * mib,
    max: 2 ** 20 * mib,
    unitBytes: mib,
    description: "the child's heap, in whole MiB. Default what Node chooses",
  },
  {
    ...same('replay.modes'),
    kind: 'words',
    words: campaignModes,
    description: 'what people may start; `[]` for nothing. Default replay, repair and forensic',
  },
  {
    ...same('replay.window'),
    kind: 'duration',
    min: 0,
    max: durationMaxMs,
    description: 'how far back history may be asked for. Default no limit of its own',
  },
  {
    ...same('replay.effects'),
    kind: 'word',
    words: ['with approval', 'never'],
    description: 'whether people may approve that a campaign calls and publishes. Default `with approval`',
  },
  {
    ...same('replay.tables'),
    kind: 'texts',
    description: 'the tables a handler writes, for its rebuild',
  },
  {
    ...same('reconcile.effects'),
    kind: 'text',
    description: 'a SELECT of the `message_id` of every row written, for `onceward audit reconcile`',
  },
  {
    ...same('reconcile.covers'),
    kind: 'word',
    words: ['all', 'some'],
    description: 'whether every applied message has a row. Default `all`',
  },
  {
    ...same('reconcile.perMessage'),
    kind: 'word',
    words: ['one', 'any'],
    description: 'whether a second row of a message is drift. Default `any`',
  },
  {
    ...same('reconcile.edited'),
    kind: 'text',
    description: 'a SELECT of the `message_id` of rows that are not what was written',
  },
  {
    ...same('replay.compare.*.key'),
    kind: 'texts',
    description: 'columns that tell rows of a rebuilt table apart. Default its primary key',
  },
  {
    ...same('replay.compare.*.columns'),
    kind: 'texts',
    description: 'columns that must be the same before a swap. Default all',
  },
  {
    ...same('replay.compare.*.mayChange'),
    kind: 'texts',
    description: 'columns the database fills whose values a swap may change. Default none',
  },
]

function limitKeys(): PolicyKey[] {
  const count = (name: string, description: string): PolicyKey => ({
    ...same(`message.limits.${name}`),
    kind: 'count',
    min: 1,
    max: 2 ** 31,
    description,
  })
  const size = (name: string, description: string): PolicyKey => ({
    ...same(`message.limits.${name}`),
    kind: 'size',
    min: 1,
    max: 2 ** 31,
    unitBytes: 1,
    description,
  })
  return [
    size('bytesMax', 'body as the broker carried it. Default 1MiB'),
    size('decompressedBytesMax', 'body after decompression. Default 16MiB'),
    size('headerBytesMax', 'names and values of the headers. Default 64KiB'),
    count('headersMax', 'number of headers. Default 100'),
    count('depthMax', 'nesting of a JSON body. Default 64'),
    count('keysMax', 'object members in a JSON body. Default 100000'),
  ]
}
