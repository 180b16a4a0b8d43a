import type { Consumer } from '../../contract/define-consumer.ts'
import type { Rule } from '../rule.ts'
import type { Dependence, TriedSample } from '../samples/try-identities.ts'

/** A contract, and the identities it reads from samples, or from an empty message without any. */
export interface SampleSubject {
  readonly consumer: Pick<Consumer, 'identity' | 'dedup'>
  readonly samples: readonly TriedSample[]
}

const dependence: Record<Dependence, string> = {
  call: 'differs between two calls on the same message',
  clock: 'depends on the clock',
  random: 'depends on random numbers',
  delivery: 'depends on the time or the count of the delivery',
}

const at = ({ line }: TriedSample) => (line === null ? 'an empty message' : `sample ${line}`)

/** An id from a sample, short and on one line. */
const shown = (id: string) => JSON.stringify(id.length > 60 ? `${id.slice(0, 60)}…` : id)

export const sampleRules: readonly Rule<SampleSubject>[] = [
  {
    id: 'OW107',
    severity: 'error',
    title: 'Identities depend on the message alone',
    reason:
      'An identity from the clock, a random number or the delivery is another one at each redelivery, so every redelivery would count as a new message.',
    fix: 'Read the identity from what the producer wrote. If it wrote none, ask it to, or use identity.businessKey for the operation.',
    // OW103 judges headers and properties.
    judge: ({ consumer: { identity }, samples }) => {
      const found = samples.flatMap(sample =>
        sample.depends
          .filter(({ name }) => typeof identity[name] === 'function')
          .map(({ name, on }) => ({ name, on, sample })),
      )
      const byName = Map.groupBy(found, ({ name, on }) => `identity.${name} ${dependence[on]}`)
      return [...byName].map(([text, [one]]) => `${text}, seen on ${at(one!.sample)}`)
    },
  },
  {
    id: 'OW108',
    severity: 'warning',
    title: 'A message id is not the id of an entity',
    reason: 'All versions of the entity have one id: the second is quarantined as a conflict, or skipped.',
    fix: 'Set identity.id to the id of the event, or to entity and version together.',
    judge: ({ consumer: { dedup }, samples }) => {
      if (dedup !== 'marker') return null
      return [...samples.flatMap(entityId), ...sharedIds(samples)]
    },
  },
  {
    id: 'OW109',
    severity: 'warning',
    title: 'Captured changes are identified by their commit',
    reason:
      'A row that changes twice has one key: without the position of the commit, its second change counts as a repeat of the first.',
    fix: 'Add the commit to identity.id, such as source.lsn or source.pos, or identify the row’s version.',
    judge: ({ consumer: { dedup, identity }, samples }) => {
      if (dedup !== 'marker' || typeof identity.id === 'string') return null
      const one = samples.find(({ capture }) => capture === 'same id' || capture === 'no commit metadata')
      if (one === undefined) return null
      return one.capture === 'same id'
        ? `identity.id of ${at(one)} stays the same at another commit`
        : `the captured change in ${at(one)} has no commit metadata`
    },
  },
  {
    id: 'OW110',
    severity: 'warning',
    title: 'The contract can read its samples',
    reason: 'A sample that the contract refuses shows nothing; a real message like it would be set aside.',
    fix: 'Correct the sample, or the schema.',
    judge: ({ samples }) =>
      samples.filter(({ problem }) => problem !== null).map(one => `${at(one)}: ${one.problem}`),
  },
]

function entityId(sample: TriedSample): string[] {
  const { values, versionField } = sample
  const { id, aggregateId, orderKey, aggregateVersion } = values
  if (id === undefined || (aggregateVersion === undefined && versionField === null)) return []
  const same = id === aggregateId ? 'aggregateId' : id === orderKey ? 'orderKey' : null
  if (same === null) return []
  const version = aggregateVersion === undefined ? `the field ${versionField}` : 'identity.aggregateVersion'
  return [`identity.id is identity.${same} in ${at(sample)}, which has a version in ${version}`]
}

function sharedIds(samples: readonly TriedSample[]): string[] {
  const withIds = samples.filter(({ values }) => values.id !== undefined)
  return [...Map.groupBy(withIds, ({ values }) => values.id!)].flatMap(([id, same]) => {
    const other = same.find(({ digest }) => digest !== same[0]!.digest)
    return other === undefined
      ? []
      : [`${at(same[0]!)} and ${at(other)} have the id ${shown(id)} and other content`]
  })
}
