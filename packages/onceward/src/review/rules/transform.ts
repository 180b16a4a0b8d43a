import type { Consumer } from '../../contract/define-consumer.ts'
import type { Transform } from '../../contract/define-transform.ts'
import { judgeAll } from '../live/access.ts'
import type { Finding, Rule } from '../rule.ts'

/** Rules about one transform without servers. */
export const transformRules: readonly Rule<Transform>[] = [
  {
    id: 'OW191',
    severity: 'warning',
    title: 'A transform has a topic for dead letters',
    reason: 'Without one, the first record that cannot be transformed halts every process of the group.',
    fix: 'Name a topic in failure.deadLetter.',
    judge: ({ failure }) => (failure.deadLetter === null ? 'failure.deadLetter is not set' : null),
  },
  {
    id: 'OW192',
    severity: 'note',
    title: 'Every process of a transform has a name',
    reason:
      'Without source.instance the partitions and the open transaction of a killed process wait for their time-outs, and readers of committed records wait with them.',
    fix: "Set instance of the topic to a name that is unique in the group and survives a restart, such as a pod's.",
    judge: ({ source }) =>
      (source as { instance?: string }).instance === undefined ? 'source.instance is not set' : null,
  },
]

/** Rules of consumers that hold for transforms: the others need a store, or an option transforms lack. */
const shared: ReadonlySet<string> = new Set([
  ...['OW103', 'OW131', 'OW132', 'OW133', 'OW134', 'OW135', 'OW141', 'OW142', 'OW143', 'OW152', 'OW173'],
  'OW174',
])

/** All rules about one transform; those of consumers see it as a consumer. */
export function judgeTransform(
  transform: Transform,
  contractRules: readonly Rule<Consumer>[],
  place: string,
): Finding[] {
  const at = { consumer: transform.name, place }
  const applicable = contractRules.filter(({ id }) => shared.has(id))
  return [
    ...judgeAll(applicable, transform as unknown as Consumer, at),
    ...judgeAll(transformRules, transform, at),
  ]
}
