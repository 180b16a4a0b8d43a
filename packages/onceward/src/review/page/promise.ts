import type { Dedup, SettleSection, SourceDeclaration } from '../../contract/contract.ts'
import type { RepeatPolicy } from '../../contract/external-target.ts'
import type { Consumer } from '../../index.ts'

/** How often an effect happens, relative to its sink. */
export type Often =
  | 'effectively once'
  | 'once per record'
  | 'at most once'
  | 'at least once, under one id'
  | 'not certain'

/** One sink, its guarantee and the assumptions of that guarantee. */
export interface SinkPromise {
  readonly sink: 'database' | 'external' | 'publish' | 'kafka'
  /** The target's name; null for the database, and for the outputs of a transform. */
  readonly name: string | null
  readonly often: Often
  readonly text: string
  readonly assumes: readonly string[]
}

type When = NonNullable<SettleSection['when']>
type Relevant = Pick<Consumer, 'dedup' | 'settle' | 'identity' | 'effect' | 'retention'>

/** The guarantees of each sink, never of the whole system. */
export function promiseOf(consumer: Relevant): readonly SinkPromise[] {
  const { when } = consumer.settle
  const { external = {}, publish = {} } = consumer.effect ?? {}
  return [
    databasePromise(consumer),
    ...Object.entries(external).map(([name, target]) =>
      externalPromise(name, target.policy ?? 'keyed', when),
    ),
    ...Object.entries(publish).map(([name, { broker }]) => publishPromise(name, broker, when)),
  ]
}

const database = { sink: 'database', name: null } as const

function databasePromise({ dedup, settle, identity, retention }: Relevant): SinkPromise {
  if (settle.when === 'before effect')
    return {
      ...database,
      often: 'at most once',
      text: 'Messages in flight are lost when a process dies. Nothing is applied twice while its marker is kept.',
      assumes: [],
    }
  if (dedup === 'checkpoint' || identity.id === 'position')
    return {
      ...database,
      often: 'once per record',
      text: `Each record of the log is applied once, in one transaction with ${dedup === 'checkpoint' ? 'its position' : 'a marker for its position'}. The same event written to the log twice is two records, and is applied twice.`,
      assumes: ['producers write each event once', 'no operator rewinds the position'],
    }
  const remembered = {
    marker: `One effect per ${identity.id === 'content' ? 'content: two messages with the same bytes count as one, even if the producer meant two' : 'message id'}${identity.businessKey === undefined ? '' : ' and per business key'}, in one transaction with its marker`,
    version: "One effect per key and version, decided by the version in the effect's own row",
  }[dedup as Exclude<Dedup, 'checkpoint'>]
  const until =
    dedup !== 'marker'
      ? ''
      : retention === null
        ? '; markers are never removed'
        : ', while the marker is kept'
  return {
    ...database,
    often: 'effectively once',
    text: `${remembered}${until}. The handler may run again after a rollback, which undoes its earlier writes.`,
    assumes: [
      dedup === 'version'
        ? 'a version means one content'
        : identity.id === 'content'
          ? 'the same content means one intent, and a repeat has the same bytes and listed headers'
          : 'an id means one intent',
      ...(identity.businessKey === undefined && dedup === 'marker'
        ? [
            'a producer that repeats an intent repeats its id: without a business key another id is another intent',
          ]
        : []),
    ],
  }
}

const byPolicy: Record<RepeatPolicy, { often: Often; text: string; assumes: readonly string[] }> = {
  keyed: {
    often: 'effectively once',
    text: 'Requested at least once, always with the same key and bytes.',
    assumes: ['the target does the work once per key, for as long as calls are repeated'],
  },
  'query first': {
    often: 'effectively once',
    text: 'Repeated only after the target reported that it did not happen.',
    assumes: ['the target answers truthfully, also about a call that is still under way'],
  },
  'at most once': {
    often: 'at most once',
    text: 'Never repeated. A call with an unknown outcome needs an operator.',
    assumes: [],
  },
  manual: {
    often: 'at most once',
    text: 'Never repeated automatically: a person records the outcome and decides.',
    assumes: ['the operator who repeats it knows that it did not happen'],
  },
}

function externalPromise(name: string, policy: RepeatPolicy, when: When): SinkPromise {
  const { often, text, assumes } = byPolicy[policy]
  const lost = when === 'before effect'
  return {
    sink: 'external',
    name,
    often: lost ? 'at most once' : often,
    text: lost ? `${text} Not requested for messages that are lost in flight.` : text,
    assumes,
  }
}

function publishPromise(name: string, broker: string, when: When): SinkPromise {
  const relayed =
    broker === 'cdc'
      ? 'Written in the same transaction; a connector publishes it, at least once, under one id.'
      : 'Written in the same transaction and published afterwards, at least once, under one id.'
  const scope =
    broker === 'kafka'
      ? ' This is not a Kafka transaction with the input record. Exactly-once within Kafka needs a transform.'
      : ''
  return {
    sink: 'publish',
    name,
    often: when === 'before effect' ? 'not certain' : 'at least once, under one id',
    text: `${relayed}${scope}${when === 'before effect' ? ' Not published for messages that are lost in flight.' : ''}`,
    assumes: ['receivers recognise a repeated id'],
  }
}

/** The assumptions about the source, by its kind. */
export function sourceAssumptions({ kind, ...options }: SourceDeclaration): readonly string[] {
  const uncommitted = (options as { isolation?: string }).isolation === 'uncommitted'
  const byKind: Readonly<Record<string, readonly string[]>> = {
    rabbitmq: ['producers publish persistent messages and wait for confirms', 'the queue is durable'],
    'rabbitmq-stream': [
      'producers wait for confirms',
      "records are read before the stream's retention removes them; missing records are reported as a loss",
    ],
    kafka: [
      'producers wait for all in-sync replicas (acks=all)',
      "records are read before the topic's retention removes them; missing records are reported as a loss",
      ...(uncommitted ? ['records of aborted transactions may be applied: isolation is uncommitted'] : []),
    ],
    postgres: [
      'producers publish in the transaction of their change, or wait for the commit of the publication',
    ],
    file: ['writers only append, whole lines, and rotate to names that do not match'],
  }
  return byKind[kind] ?? ['the source redelivers unacknowledged messages']
}

/** Assumptions and limits of every consumer. */
export const commonAssumptions = [
  'PostgreSQL keeps committed data: fsync is on, and a failover loses no commit',
]
export const notPromised = [
  'Actions of a handler outside of tx and effects (its own calls, files) may be repeated.',
  'A message may be handled more than once; its effect happens once.',
]
