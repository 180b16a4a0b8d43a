import type { Consumer } from '../../contract/define-consumer.ts'
import type { SetRule } from '../rule.ts'

interface Declared {
  readonly kind: string
  readonly queue?: string
  readonly topic?: string
  readonly stream?: string
  readonly group?: string
  readonly url?: string
  readonly bootstrap?: string
}

/** What consumers compete for; null where each receives all messages. */
function shareOf({ source, name, generation }: Consumer): string | null {
  const { kind, queue, topic, stream, group, url, bootstrap } = source as Declared
  if (kind === 'rabbitmq' || kind === 'postgres') return [kind, url ?? '', queue].join(' ')
  if (kind === 'kafka') return [kind, bootstrap ?? '', topic, group ?? `${name}.${generation}`].join(' ')
  if (kind === 'rabbitmq-stream') return [kind, url ?? '', stream, group ?? `${name} ${generation}`].join(' ')
  return null
}

function sharing(consumers: readonly Consumer[], keyOf: (one: Consumer) => string | null): Consumer[][] {
  const groups = Map.groupBy(consumers, keyOf)
  groups.delete(null)
  return [...groups.values()].filter(group => group.length > 1)
}

export const severalRules: readonly SetRule[] = [
  {
    id: 'OW181',
    severity: 'error',
    title: 'A name belongs to one consumer',
    reason: 'Markers belong to a name and generation: two consumers of one name skip each other’s messages.',
    fix: 'Give each its own name.',
    judge: consumers =>
      sharing(consumers, one => `${one.name} ${one.generation}`).map(group => ({
        consumer: group[0]!.name,
        found: `${group.length} contracts are named ${group[0]!.name}, generation ${group[0]!.generation}`,
      })),
  },
  {
    id: 'OW182',
    severity: 'error',
    title: 'Consumers with different names share no queue and no group',
    reason: 'Each receives only a part of the messages, and no effect is complete.',
    fix: 'Bind a queue for each, or omit the group so that each has its own.',
    judge: consumers =>
      sharing(consumers, shareOf)
        .filter(group => new Set(group.map(one => one.name)).size > 1)
        .flatMap(group =>
          group.map(one => ({
            consumer: one.name,
            found: `${one.name} shares its ${one.source.kind} source with ${group
              .filter(other => other !== one)
              .map(other => other.name)
              .join(', ')}`,
          })),
        ),
  },
]
