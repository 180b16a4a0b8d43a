import type { Consumer } from '../../contract/define-consumer.ts'
import { durationText } from '../../contract/duration.ts'
import { neededRetention, type SourceWindow } from '../../contract/needed-retention.ts'
import type { DatabaseFacts } from '../../drivers/postgres/server/read-database.ts'
import { readingOf } from '../../engine/consumer/consumer-facts.ts'
import type { BrokerIdentity } from '../../ports/source.ts'
import type { Rule } from '../rule.ts'
import { outletsOf } from './outlets.ts'

/** A consumer, what the database remembers of it and of others, and how long its source may repeat itself. */
export interface MemorySubject {
  readonly consumer: Consumer
  /** Null where no database was asked. */
  readonly database: DatabaseFacts | null
  /** Null where the source was not asked. */
  readonly window: SourceWindow | null
  /** What the declared effect says of its tables; null where it fits or there is none. */
  readonly unfit: string | null
  /** The cluster its source is on, by its own word; null where it does not say. */
  readonly cluster: BrokerIdentity | null
  readonly environment: string | undefined
  /** The names of all contracts of this check. */
  readonly checkedNames: ReadonlySet<string>
}

export const memoryRules: readonly Rule<MemorySubject>[] = [
  {
    id: 'OW501',
    severity: 'error',
    title: 'Memory outlives what the source can repeat',
    reason:
      'A marker that is gone while its record can still be read again lets it pass for new. The consumer refuses to start.',
    fix: 'Raise retention.markers, or make the broker’s retention shorter.',
    judge: ({ consumer, window }) => {
      const { retention, dedup } = consumer
      if (retention === null || dedup !== 'marker' || window === null || 'unknown' in window) return null
      return neededRetention(consumer, window)
        .reasons.filter(({ what, ms }) => what === window.by && ms > retention.markers)
        .map(
          ({ what, ms }) =>
            `retention.markers is ${durationText(retention.markers)}, ${what}: ${Number.isFinite(ms) ? durationText(ms) : 'for ever'}`,
        )
    },
  },
  {
    id: 'OW502',
    severity: 'error',
    title: 'The broker says how long it may repeat itself',
    reason: 'Where nobody can say, a contract that forgets is refused at start.',
    fix: "Say it in retention.sourceKeeps, as in sourceKeeps: '14d'.",
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
      'A consumer of one environment on the database of another mixes two memories. It refuses to start.',
    fix: 'Check the address and ONCEWARD_ENVIRONMENT.',
    judge: ({ database, environment }) =>
      database !== null &&
      database.environment !== null &&
      environment !== undefined &&
      database.environment !== environment
        ? `this process is set up for "${environment}", the database belongs to "${database.environment}"`
        : null,
  },
  {
    id: 'OW504',
    severity: 'note',
    title: 'Environments have names',
    reason: 'Without a name on both sides nobody notices an address of production in a file of staging.',
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
    title: 'A consumer that has a memory keeps its name',
    reason:
      'The name is the dedup memory. Renamed, a consumer forgets what it has applied and applies it again.',
    fix: 'Use the name that the database knows, or check all contracts together if the other is a consumer of its own.',
    judge: ({ consumer, database, checkedNames }) => {
      if (database === null || database.consumers.some(one => one.name === consumer.name)) return null
      const left = [...new Set(database.consumers.filter(one => one.markers).map(one => one.name))]
      const orphans = left.filter(name => !checkedNames.has(name))
      return orphans.length === 0
        ? null
        : `the database knows no ${consumer.name}, and has the memory of ${orphans.slice(0, 5).join(', ')}, for which there is no contract here`
    },
  },
  {
    id: 'OW506',
    severity: 'error',
    title: 'A generation is not taken back',
    reason: 'An older generation has an older memory: what the newer one has applied would be applied again.',
    fix: 'Use the newest generation, or one above it for a rebuild. A worker of the former one finishes what that one has stored or deferred.',
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
    title: 'What remembers does not change under a consumer',
    reason:
      'Markers do not know what a position knew, and the other way round: what came before the change may be applied again or never.',
    fix: 'Change dedup together with generation, and read from a place you know. Run a worker of the former generation until nothing of it is pending: the new one is refused before.',
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
    reason: 'The consumer compares them at start, and does not start where they differ.',
    fix: 'Create or change the table, correct the declaration, or give this login the right to it.',
    judge: ({ unfit }) => unfit,
  },
  {
    id: 'OW509',
    severity: 'error',
    title: 'What a consumer reads was not read under another name',
    reason:
      'Under the new name nothing is remembered of what was applied under the old one. The consumer refuses to start.',
    fix: 'Use the old name, or run "onceward consumers rename"; for a consumer of its own "onceward consumers separate".',
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
    title: 'The broker is one that feeds this database',
    reason: 'Messages of another environment would be applied to this one. The consumer refuses to start.',
    fix: 'Check the addresses; if the cluster belongs here too, run "onceward brokers accept".',
    judge: ({ database, cluster }) => {
      if (database === null || database.environment === null || cluster === null) return null
      const known = database.brokers.filter(one => one.kind === cluster.kind)
      // Without a set cluster name each node announces its own: a running consumer compares by its mark, and
      // a check writes none.
      const isNode = ({ cluster: name }: { readonly cluster: string }) => name.includes('@')
      const untold = cluster.kind === 'rabbitmq' && isNode(cluster) && known.every(isNode)
      return known.length === 0 || untold || known.some(one => one.cluster === cluster.cluster)
        ? null
        : `the ${cluster.kind} cluster is "${cluster.cluster}", the database of "${database.environment}" is fed by ${known.map(one => `"${one.cluster}"`).join(', ')}`
    },
  },
  {
    id: 'OW511',
    severity: 'warning',
    title: 'Queues of the database that are published to are known',
    reason:
      'A queue that is not there is made with the first message: under a misspelt name it waits for a reader who never comes.',
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
    title: 'Markers that are to lie in days do',
    reason: 'Until the owner of the schema has moved them, they are removed row by row like all others.',
    fix: 'Run "onceward retention partition" as the owner of the schema, or leave retention.partitions out.',
    judge: ({ consumer: { name, generation, retention }, database }) => {
      if (retention === null || retention.partitions === null) return null
      const enrolled = database?.consumers.find(one => one.name === name && one.generation === generation)
      return enrolled === undefined || enrolled.days
        ? null
        : "retention.partitions is 'daily', and the markers lie in the table of all consumers"
    },
  },
]

/** A virtual host that is not known may be any. */
function maybeSame(noted: string | null | undefined, reached: string | undefined): boolean {
  return (noted ?? null) === null || reached === undefined || noted === reached
}
