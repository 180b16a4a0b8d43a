import type { Consumer } from '../../contract/define-consumer.ts'
import { durationText } from '../../contract/duration.ts'
import { neededRetention, type SourceWindow } from '../../contract/needed-retention.ts'
import { shortestMarkersMs } from '../../contract/retention.ts'
import type { DatabaseFacts } from '../../drivers/postgres/server/read-database.ts'
import { readingOf } from '../../engine/consumer/consumer-facts.ts'
import type { BrokerIdentity } from '../../ports/source.ts'
import type { Rule } from '../rule.ts'
import { outletsOf } from './outlets.ts'

/** A consumer, the database's facts about it and others, and how long its source may repeat messages. */
export interface MemorySubject {
  readonly consumer: Consumer
  /** Null if no database was checked. */
  readonly database: DatabaseFacts | null
  /** Null if the source was not checked. */
  readonly window: SourceWindow | null
  /** Why the declared effect does not fit its tables; null if it does or there is none. */
  readonly unfit: string | null
  /** The cluster that its source announces; null if it announces none. */
  readonly cluster: BrokerIdentity | null
  readonly environment: string | undefined
  /** The names of all contracts of this check. */
  readonly checkedNames: ReadonlySet<string>
}

export const memoryRules: readonly Rule<MemorySubject>[] = [
  {
    id: 'OW501',
    severity: 'error',
    title: 'Markers outlive what the source can repeat',
    reason:
      'If a marker is removed while its record can still be read again, the record counts as new. The consumer refuses to start.',
    fix: 'Raise retention.markers, or shorten the broker’s retention.',
    judge: ({ consumer, window }) => {
      const { retention, dedup } = consumer
      if (retention === null || dedup !== 'marker' || window === null || 'unknown' in window) return null
      return neededRetention(consumer, window)
        .reasons.filter(({ what, ms }) => what === window.by && ms > shortestMarkersMs(retention))
        .map(
          ({ what, ms }) =>
            `markers are kept for ${durationText(shortestMarkersMs(retention))}, ${what}: ${Number.isFinite(ms) ? durationText(ms) : 'no limit'}`,
        )
    },
  },
  {
    id: 'OW502',
    severity: 'error',
    title: 'The broker reports how long it may repeat messages',
    reason: 'If that is unknown, a contract that removes markers is refused at start.',
    fix: "Set retention.sourceKeeps, as in sourceKeeps: '14d'.",
    judge: ({ consumer: { retention, dedup }, window }) =>
      retention !== null &&
      retention.sourceKeeps === null &&
      dedup === 'marker' &&
      window !== null &&
      'unknown' in window
        ? window.unknown
        : null,
  },
  {
    id: 'OW503',
    severity: 'error',
    title: 'The database belongs to this environment',
    reason:
      'A consumer of one environment on the database of another mixes their markers. It refuses to start.',
    fix: 'Check the address and ONCEWARD_ENVIRONMENT.',
    judge: ({ database, environment }) =>
      database !== null &&
      database.environment !== null &&
      environment !== undefined &&
      database.environment !== environment
        ? `this process is configured for "${environment}", the database belongs to "${database.environment}"`
        : null,
  },
  {
    id: 'OW504',
    severity: 'note',
    title: 'Environments have names',
    reason: 'Without a name on both sides a production address in a staging file goes unnoticed.',
    fix: 'Set ONCEWARD_ENVIRONMENT wherever consumers run, and run "onceward migrate" with it once.',
    judge: ({ database, environment }) => {
      if (database === null || database.schema === null) return null
      if (environment === undefined) return 'ONCEWARD_ENVIRONMENT is not set'
      return database.environment === null ? 'the database has no environment' : null
    },
  },
  {
    id: 'OW505',
    severity: 'warning',
    title: 'A consumer with markers keeps its name',
    reason: 'Markers belong to the name. A renamed consumer has no markers and applies messages again.',
    fix: 'Use the name in the database, or check all contracts together if the other is a separate consumer.',
    judge: ({ consumer, database, checkedNames }) => {
      if (database === null || database.consumers.some(one => one.name === consumer.name)) return null
      const left = [...new Set(database.consumers.filter(one => one.markers).map(one => one.name))]
      const orphans = left.filter(name => !checkedNames.has(name))
      return orphans.length === 0
        ? null
        : `the database has no ${consumer.name}, and has markers of ${orphans.slice(0, 5).join(', ')}, for which there is no contract here`
    },
  },
  {
    id: 'OW506',
    severity: 'error',
    title: 'A generation does not decrease',
    reason: 'An older generation has older markers: it would apply again what the newer one has applied.',
    fix: 'Use the newest generation, or one above it for a rebuild. A worker of the former generation finishes what it has stored or deferred.',
    judge: ({ consumer, database }) => {
      const known = database?.consumers.filter(one => one.name === consumer.name) ?? []
      const newest = Math.max(0, ...known.map(one => one.generation))
      return newest > consumer.generation
        ? `the contract says generation ${consumer.generation}, the database has ${newest}`
        : null
    },
  },
  {
    id: 'OW507',
    severity: 'warning',
    title: 'The dedup method does not change under a consumer',
    reason:
      'Markers do not contain what a position recorded, and vice versa: messages before the change may be applied again or never.',
    fix: 'Change dedup together with generation, and start from a known position. Run a worker of the former generation until nothing of it is pending: the new one is refused before.',
    judge: ({ consumer, database }) => {
      const known = database?.consumers.find(
        one => one.name === consumer.name && one.generation === consumer.generation,
      )
      return known !== undefined && known.dedup !== consumer.dedup
        ? `the contract says dedup '${consumer.dedup}', the database remembers by '${known.dedup}'`
        : null
    },
  },
  {
    id: 'OW508',
    severity: 'error',
    title: 'A declared effect fits its tables',
    reason: 'The consumer compares them at start, and refuses to start if they differ.',
    fix: 'Create or change the table, correct the declaration, or grant this login the right.',
    judge: ({ unfit }) => unfit,
  },
  {
    id: 'OW509',
    severity: 'error',
    title: 'The source was not read under another name',
    reason: 'The new name has no markers of what the old one applied. The consumer refuses to start.',
    fix: 'Use the old name, or run "onceward consumers rename"; for a separate consumer "onceward consumers separate".',
    judge: ({ consumer, database, cluster }) => {
      const { reading } = readingOf(consumer)
      if (reading === undefined) return null
      const same = (database?.readings ?? []).filter(
        one =>
          one.kind === reading.kind &&
          one.place === reading.place &&
          one.reader === reading.reader &&
          maybeSame(one.virtualHost, cluster?.virtualHost),
      )
      const other = same.find(one => one.name !== consumer.name)
      return other !== undefined && same.every(one => one.name !== consumer.name)
        ? `${reading.kind} ${reading.place} was read by ${other.name}`
        : null
    },
  },
  {
    id: 'OW510',
    severity: 'error',
    title: 'The broker is registered for this database',
    reason: 'Messages of another environment would be applied here. The consumer refuses to start.',
    fix: 'Check the addresses; if the cluster belongs here too, run "onceward brokers accept".',
    judge: ({ database, cluster }) => {
      if (database === null || database.environment === null || cluster === null) return null
      const known = database.brokers.filter(one => one.kind === cluster.kind)
      // Without a set cluster name each node announces its own: a running consumer compares by its mark, and
      // a check writes none.
      const isNode = ({ cluster: name }: { readonly cluster: string }) => name.includes('@')
      const undecided = cluster.kind === 'rabbitmq' && isNode(cluster) && known.every(isNode)
      return known.length === 0 || undecided || known.some(one => one.cluster === cluster.cluster)
        ? null
        : `the ${cluster.kind} cluster is "${cluster.cluster}", the database of "${database.environment}" is fed by ${known.map(one => `"${one.cluster}"`).join(', ')}`
    },
  },
  {
    id: 'OW511',
    severity: 'warning',
    title: 'PostgreSQL queues that are published to exist',
    reason: 'The first message creates a missing queue: under a misspelt name it has no reader.',
    fix: 'Create it with createQueue, start its consumer once, or correct the name.',
    judge: ({ consumer, database }) => {
      const known = database?.queues ?? null
      if (known === null) return null
      return outletsOf(consumer).flatMap(({ setting, place }) =>
        place.broker === 'postgres' && !known.includes(place.queue)
          ? [`${setting}: queue ${place.queue} does not exist in this database`]
          : [],
      )
    },
  },
  {
    id: 'OW512',
    severity: 'warning',
    title: 'Markers are partitioned by day as declared',
    reason: 'Until the owner of the schema has moved them, they are removed row by row.',
    fix: 'Run "onceward retention partition" as the owner of the schema, or omit retention.partitions.',
    judge: ({ consumer: { name, generation, retention }, database }) => {
      if (retention === null || retention.partitions === null) return null
      const enrolled = database?.consumers.find(one => one.name === name && one.generation === generation)
      return enrolled === undefined || enrolled.days
        ? null
        : "retention.partitions is 'daily', and the markers are in the table of all consumers"
    },
  },
]

/** An unknown virtual host matches any. */
function maybeSame(noted: string | null | undefined, reached: string | undefined): boolean {
  return (noted ?? null) === null || reached === undefined || noted === reached
}
